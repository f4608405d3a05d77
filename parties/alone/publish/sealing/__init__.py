"""Tables that only a third party can read: numbers in shares that are encrypted to its certificate's key."""
