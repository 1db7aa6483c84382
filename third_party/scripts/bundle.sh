# bundle: what a machine with Python's torch, but no Go, needs to run our tests and trainer.
# shellcheck shell=bash disable=SC2154
