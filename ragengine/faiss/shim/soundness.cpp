#include "soundness.hpp"

#include <vector>

#include <faiss/IndexFlat.h>
#include <faiss/invlists/InvertedLists.h>

namespace ragengine {

bool graph_is_sound(const faiss::HNSW& hnsw, size_t rows) {
    const auto& per_level = hnsw.cum_nneighbor_per_level;
    if (per_level.size() < 2 || per_level[0] != 0 || hnsw.assign_probas.size() >= per_level.size()) {
        return false;
    }
    for (size_t level = 1; level < per_level.size(); level++) {
        if (per_level[level] < per_level[level - 1]) {
            return false;
        }
    }
    if (hnsw.levels.size() != rows || hnsw.offsets.size() != rows + 1 || hnsw.offsets[0] != 0) {
        return false;
    }
    if (rows == 0) {
        return hnsw.entry_point == -1 && hnsw.neighbors.size() == 0;
    }
    for (size_t row = 0; row < rows; row++) {
        const int level = hnsw.levels[row];
        if (level < 1 || size_t(level) >= per_level.size() ||
            hnsw.offsets[row + 1] != hnsw.offsets[row] + per_level[level]) {
            return false;
        }
    }
    if (hnsw.offsets[rows] != hnsw.neighbors.size()) {
        return false;
    }
    if (hnsw.entry_point < 0 || size_t(hnsw.entry_point) >= rows ||
        hnsw.max_level != hnsw.levels[hnsw.entry_point] - 1) {
        return false;
    }
    for (size_t row = 0; row < rows; row++) {
        for (int level = 0; level < hnsw.levels[row]; level++) {
            size_t begin, end;
            hnsw.neighbor_range(row, level, &begin, &end);
            for (size_t i = begin; i < end && hnsw.neighbors[i] != -1; i++) {
                const auto neighbor = hnsw.neighbors[i];
                if (neighbor < 0 || size_t(neighbor) >= rows || hnsw.levels[neighbor] <= level) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool quantizer_is_sound(const faiss::IndexScalarQuantizer& index) {
    const size_t dimensions = index.d;
    return index.sq.qtype == faiss::ScalarQuantizer::QT_8bit && index.sq.d == dimensions &&
            index.sq.code_size == dimensions && index.code_size == dimensions &&
            (index.is_trained ? index.sq.trained.size() == 2 * dimensions : index.ntotal == 0);
}

bool lists_are_sound(const faiss::IndexIVFFlat& index) {
    const auto* centres = dynamic_cast<const faiss::IndexFlat*>(index.quantizer);
    const auto* lists = dynamic_cast<const faiss::ArrayInvertedLists*>(index.invlists);
    const size_t code_size = sizeof(float) * index.d;
    if (!centres || !lists || index.direct_map.type != faiss::DirectMap::NoMap || index.nlist == 0) {
        return false;
    }
    if (centres->d != index.d || centres->metric_type != faiss::METRIC_L2 || centres->code_size != code_size ||
        centres->codes.size() != size_t(centres->ntotal) * code_size ||
        size_t(centres->ntotal) != (index.is_trained ? index.nlist : 0)) {
        return false;
    }
    if (lists->nlist != index.nlist || lists->ids.size() != index.nlist || lists->codes.size() != index.nlist ||
        index.code_size != code_size || lists->code_size != code_size || index.ntotal < 0) {
        return false;
    }
    size_t rows = 0;
    for (size_t list = 0; list < index.nlist; list++) {
        rows += lists->ids[list].size();
        if (lists->codes[list].size() != lists->ids[list].size() * code_size) {
            return false;
        }
    }
    if (rows != size_t(index.ntotal)) {
        return false;
    }
    std::vector<bool> seen(rows);
    for (size_t list = 0; list < index.nlist; list++) {
        for (size_t i = 0; i < lists->ids[list].size(); i++) {
            const auto row = lists->ids[list][i];
            if (row < 0 || size_t(row) >= rows || seen[row]) {
                return false;
            }
            seen[row] = true;
        }
    }
    return true;
}

} // namespace ragengine
