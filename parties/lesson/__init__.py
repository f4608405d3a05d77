"""The protocols of the lecture notes' lesson 9, run so that a student can watch them."""
