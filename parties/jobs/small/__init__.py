"""The small questions: who has more, are they equal, which class has most rows; any circuit or program."""
