"""Tables that only a third party can read: numbers in shares that are sealed to its certificate."""
