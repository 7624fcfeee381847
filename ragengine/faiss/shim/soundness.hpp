// Checks that an index read from a file is safe to search, because FAISS does not check the offsets in it.
#pragma once

#include <cstddef>

#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexScalarQuantizer.h>

namespace ragengine {

/// Whether every link and offset of a graph is within its rows.
bool graph_is_sound(const faiss::HNSW& hnsw, std::size_t rows);

/// Whether a quantizer has one byte per value, and complete training data.
bool quantizer_is_sound(const faiss::IndexScalarQuantizer& index);

/// Whether every row is in exactly one list, and the number of centres is that of the lists.
bool lists_are_sound(const faiss::IndexIVFFlat& index);

} // namespace ragengine
