"""Constants shared by kernels and their callers."""

GATES_PER_KEY = 64  # neighbouring numbers of gates or OTs that share a hash key; a multiple of 8
KEYS_AT_ONCE = 4  # keys expanded together
OCTETS_AT_ONCE = 64  # eights of OTs whose strings are written together: one cache line in each row
