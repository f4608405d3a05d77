"""What two parties want to know: comparisons, majorities, logarithms and the joint ID3-delta tree."""
