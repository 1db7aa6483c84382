# Unpacks the compiled tests to $home/tests; sourced after env.sh.
# shellcheck shell=bash disable=SC2154
tar -C "$home" -xJf "$bundle/tests.tar.xz" 2>/dev/null ||
	"$python" -m tarfile -e "$bundle/tests.tar.xz" "$home" # where there is no xz
