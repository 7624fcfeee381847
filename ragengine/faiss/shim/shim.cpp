// What FAISS' C API cannot do or does wrong: searches of a graph and of lists with their own parameters and a filter, all on the stack
// (the C API has no SearchParametersHNSW, and the Rust crate leaks the selector), distances to given rows, a look at what was read.
// No exception leaves this file: each function returns 0, or 1 and a message.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <typeinfo>
#include <vector>

#include <omp.h>

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/DistanceComputer.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <faiss/invlists/InvertedLists.h>

#include "soundness.hpp"

namespace {

template <class Body>
int guarded(char* message, size_t capacity, Body body) noexcept {
    const char* text = "unknown C++ exception";
    try {
        body();
        return 0;
    } catch (const std::exception& error) {
        std::strncpy(message, error.what(), capacity - 1);
    } catch (...) {
        std::strncpy(message, text, capacity - 1);
    }
    message[capacity - 1] = '\0';
    return 1;
}

/// Where the vectors are: under the graph, or the index itself.
const faiss::Index* storage_of(const faiss::Index* index) {
    const auto* graph = dynamic_cast<const faiss::IndexHNSW*>(index);
    return graph ? graph->storage : index;
}

struct CountingWriter : faiss::IOWriter {
    uint64_t bytes = 0;
    size_t operator()(const void*, size_t size, size_t items) override {
        bytes += uint64_t(size) * items;
        return items;
    }
};

void search_graph(
        const faiss::Index& index,
        const float* query,
        int64_t k,
        size_t ef_search,
        faiss::IDSelector* filter,
        float* distances,
        int64_t* labels) {
    faiss::SearchParametersHNSW parameters;
    parameters.efSearch = int(std::min<size_t>(ef_search, std::numeric_limits<int>::max()));
    parameters.sel = filter;
    index.search(1, query, k, distances, labels, &parameters);
}

void search_lists(
        const faiss::IndexIVFFlat& ivf,
        const float* query,
        int64_t k,
        size_t probes,
        faiss::IDSelector* filter,
        float* distances,
        int64_t* labels) {
    faiss::SearchParametersIVF parameters;
    parameters.sel = filter;
    parameters.nprobe = std::min(probes, ivf.nlist);
    if (probes < ivf.nlist) {
        ivf.search(1, query, k, distances, labels, &parameters);
        return;
    }
    // All of them: in which order is of no consequence.
    std::vector<faiss::idx_t> lists(ivf.nlist);
    std::iota(lists.begin(), lists.end(), 0);
    const std::vector<float> to_centres(ivf.nlist);
    ivf.search_preassigned(1, query, k, lists.data(), to_centres.data(), distances, labels, false, &parameters);
}

} // namespace

extern "C" {

struct ragengine_faiss_shape {
    int32_t has_graph;
    /// The graph's M (the lowest level has twice as many neighbours per row); 0 without a graph.
    int32_t m;
    int32_t is_quantized;
    /// How many lists; 0 without lists.
    uint64_t lists;
};

/// Fails for anything but Flat, HNSW<M>, HNSW<M>_SQ8, SQ8 and IVF<N>,Flat with the squared L2 distance, and for parts that do not fit
/// each other.
int ragengine_faiss_shape_of(const void* native, ragengine_faiss_shape* shape, char* message, size_t capacity) {
    return guarded(message, capacity, [&] {
        const auto* index = static_cast<const faiss::Index*>(native);
        *shape = {};
        if (typeid(*index) == typeid(faiss::IndexIVFFlat)) {
            const auto& ivf = static_cast<const faiss::IndexIVFFlat&>(*index);
            FAISS_THROW_IF_NOT_MSG(ivf.metric_type == faiss::METRIC_L2, "the metric is not the squared L2 distance");
            FAISS_THROW_IF_NOT_MSG(ivf.d > 0 && ragengine::lists_are_sound(ivf), "its lists are damaged");
            shape->lists = ivf.nlist;
            return;
        }
        const auto* graph = dynamic_cast<const faiss::IndexHNSW*>(index);
        const auto* storage = dynamic_cast<const faiss::IndexFlatCodes*>(storage_of(index));
        const auto* flat = dynamic_cast<const faiss::IndexFlat*>(storage);
        const auto* quantized = dynamic_cast<const faiss::IndexScalarQuantizer*>(storage);
        FAISS_THROW_IF_NOT_MSG(flat || quantized, "not one of Flat, HNSW, HNSW_SQ8, SQ8 and IVF,Flat");
        FAISS_THROW_IF_NOT_MSG(
                index->metric_type == faiss::METRIC_L2 && storage->metric_type == faiss::METRIC_L2,
                "the metric is not the squared L2 distance");
        FAISS_THROW_IF_NOT_MSG(
                index->d > 0 && storage->d == index->d && storage->ntotal == index->ntotal && index->ntotal >= 0 &&
                        index->is_trained == storage->is_trained &&
                        storage->codes.size() == size_t(storage->ntotal) * storage->code_size,
                "its sizes contradict each other");
        FAISS_THROW_IF_NOT_MSG(!flat || flat->code_size == sizeof(float) * flat->d, "its sizes contradict each other");
        FAISS_THROW_IF_NOT_MSG(!quantized || ragengine::quantizer_is_sound(*quantized), "its quantizer does not fit");
        FAISS_THROW_IF_NOT_MSG(!graph || ragengine::graph_is_sound(graph->hnsw, graph->ntotal), "its graph is damaged");
        shape->has_graph = graph != nullptr;
        shape->m = graph ? graph->hnsw.nb_neighbors(0) / 2 : 0;
        shape->is_quantized = quantized != nullptr;
    });
}

/// The `k` nearest rows that a graph leads to while it keeps `effort` candidates, or those in the `effort` lists whose centres are nearest;
/// `bitmap` may be null (no filter). Labels are -1 where nothing was found.
int ragengine_faiss_search(
        const void* native,
        const float* query,
        int64_t k,
        size_t effort,
        const uint8_t* bitmap,
        size_t bitmap_bytes,
        float* distances,
        int64_t* labels,
        char* message,
        size_t capacity) {
    return guarded(message, capacity, [&] {
        const auto* index = static_cast<const faiss::Index*>(native);
        faiss::IDSelectorBitmap bits(bitmap_bytes, bitmap);
        faiss::IDSelector* filter = bitmap ? &bits : nullptr;
        if (const auto* ivf = dynamic_cast<const faiss::IndexIVFFlat*>(index)) {
            search_lists(*ivf, query, k, effort, filter, distances, labels);
        } else {
            search_graph(*index, query, k, effort, filter, distances, labels);
        }
    });
}

/// The vector at `position`.
int ragengine_faiss_reconstruct(const void* native, int64_t position, float* vector, char* message, size_t capacity) {
    return guarded(message, capacity, [&] {
        const auto* index = static_cast<const faiss::Index*>(native);
        const auto* ivf = dynamic_cast<const faiss::IndexIVFFlat*>(index);
        if (!ivf) {
            index->reconstruct(position, vector);
            return;
        }
        for (size_t list = 0; list < ivf->nlist; list++) {
            const size_t rows = ivf->invlists->list_size(list);
            const faiss::InvertedLists::ScopedIds ids(ivf->invlists, list);
            for (size_t i = 0; i < rows; i++) {
                if (ids[i] == position) {
                    ivf->reconstruct_from_offset(list, i, vector);
                    return;
                }
            }
        }
        FAISS_THROW_MSG("no list has this row");
    });
}

/// The distances from the query to `count` rows, four at a time as FAISS' own graph walk computes them.
int ragengine_faiss_distances(
        const void* native,
        const float* query,
        const int64_t* positions,
        size_t count,
        float* distances,
        char* message,
        size_t capacity) {
    return guarded(message, capacity, [&] {
        const auto* storage = storage_of(static_cast<const faiss::Index*>(native));
        std::unique_ptr<faiss::DistanceComputer> computer(storage->get_distance_computer());
        computer->set_query(query);
        size_t i = 0;
        for (; i + 4 <= count; i += 4) {
            const int64_t* row = positions + i;
            float* to = distances + i;
            computer->distances_batch_4(row[0], row[1], row[2], row[3], to[0], to[1], to[2], to[3]);
        }
        for (; i < count; i++) {
            distances[i] = (*computer)(positions[i]);
        }
    });
}

/// How many bytes FAISS writes for this index: its own writer does not report what is lost when the file is closed.
int ragengine_faiss_serialized_bytes(const void* native, uint64_t* bytes, char* message, size_t capacity) {
    return guarded(message, capacity, [&] {
        CountingWriter writer;
        faiss::write_index(static_cast<const faiss::Index*>(native), &writer);
        *bytes = writer.bytes;
    });
}

void openblas_set_num_threads(int threads);

void ragengine_faiss_use_one_openmp_thread() {
    omp_set_num_threads(1);
}

void ragengine_faiss_use_one_openblas_thread() {
    openblas_set_num_threads(1);
}

} // extern "C"
