# rivals: what is measured beside ours, ONNX Runtime, OpenVINO, FastAPI and LitServe, besides the peer; only when asked for.
# shellcheck shell=bash disable=SC2154

rivals() { wheels "$home/rivals" --same-python "$RIVALS $SERVERS"; }

programs() { go run ./bench -programs "$@"; }
