"""A raw table looked at before anything is computed: how it is spelled, what its columns are, which schema it has."""
