#!/bin/sh
# Runs the compiler of FAISS, which CMake hands over with its arguments. FAISS has many kinds of index. Those that no index of ours is made of are
# not optimised: that is a quarter of what compiling FAISS takes.
case "$*" in
*FastScan*.cpp | *fast_scan*.cpp | *PQ*.cpp | *IndexBinary*.cpp | *RaBitQ*.cpp | *AdditiveQuantizer*.cpp | *SpectralHash*.cpp | *ProductQuantizer.cpp | *NSG.cpp)
    exec "$@" -O0
    ;;
*) exec "$@" ;;
esac
