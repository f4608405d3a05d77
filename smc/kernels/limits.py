"""What kernels and their callers agree on."""

GATES_PER_KEY = 64  # neighbouring numbers of gates, or of OTs, that share a key of the hash; a multiple of 8
KEYS_AT_ONCE = 4  # expanded together
OCTETS_AT_ONCE = 64  # eights of OTs whose strings are written together: a line of the cache in each row
