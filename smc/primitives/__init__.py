"""The building blocks below every protocol: a PRG, bit matrices."""
