#include "device/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/checked.h"
#include "device/cpu/line_buffer.h"

namespace lockstep::device::cpu {
namespace {

// Below this many multiplications one thread is done before a second one has begun.
constexpr int64_t kAloneMultiplications = 1 << 17;
// Fewer tasks a thread than this, and tiles are split over their chunks.
constexpr int64_t kTasksAThread = 4;

// A tile and the chunks it reads.
struct TilePlan {
  AttendTile tile;
  int first_chunk;
  int chunks;
  ptrdiff_t partials;  // where those of a split tile begin
};

// One chunk of a split tile.
struct ChunkTask {
  int tile;
  int chunk;
};

TilePlan plan_tile(const AttendTile& tile) {
  const AttendJob& job = *tile.job;
  const int first_row = tile.first_query / job.group_size;
  const int last_row = (tile.first_query + tile.queries - 1) / job.group_size;
  const int first_end = job.first_position + first_row + 1;
  const int begin = job.window > 0 ? std::max(0, first_end - job.window) : 0;
  const int first_chunk = begin / kChunkKeys;
  const int last_chunk = (job.first_position + last_row) / kChunkKeys;
  return {tile, first_chunk, last_chunk - first_chunk + 1, 0};
}

ptrdiff_t chunk_floats(const AttendTile& tile) {
  return ptrdiff_t{tile.queries} * (kPartialHead + tile.job->pages.v_columns);
}

int64_t multiplications(const TilePlan& plan) {
  const KvPages& pages = plan.tile.job->pages;
  const int end = plan.tile.job->first_position + plan.tile.job->rows;
  const int64_t keys = std::min(int64_t{plan.chunks} * kChunkKeys, int64_t{end});
  return keys * plan.tile.queries * (pages.k_head_size + pages.v_columns);
}

}  // namespace

struct AttentionScratch::Memory {
  std::vector<TilePlan> tiles;
  std::vector<ChunkTask> tasks;
  std::vector<std::atomic<int>> chunks_left;  // of each split tile
  LineBuffer workers;                         // KvKernels::scratch_floats each
  LineBuffer partials;
};

AttentionScratch::AttentionScratch() : memory_(std::make_unique<Memory>()) {}
AttentionScratch::~AttentionScratch() = default;

namespace {

// Tiles with the most keys first: the loop then ends with small ones.
void list_tiles(std::span<const AttendJob> jobs, std::vector<TilePlan>& tiles) {
  tiles.clear();
  for (const AttendJob& job : jobs) {
    const int queries = job.rows * job.group_size;
    for (int first = (queries - 1) / kTileQueries * kTileQueries; first >= 0;
         first -= kTileQueries) {
      const int count = std::min(kTileQueries, queries - first);
      for (int head = 0; head < job.pages.kv_heads; ++head) {
        tiles.push_back(plan_tile({&job, head, first, count}));
      }
    }
  }
}

void list_chunks(std::vector<TilePlan>& tiles, std::vector<ChunkTask>& tasks) {
  tasks.clear();
  ptrdiff_t partials = 0;
  for (size_t t = 0; t < tiles.size(); ++t) {
    tiles[t].partials = partials;
    partials += tiles[t].chunks * chunk_floats(tiles[t].tile);
    for (int c = 0; c < tiles[t].chunks; ++c) tasks.push_back({static_cast<int>(t), c});
  }
}

}  // namespace

void run_attention(const KvKernels& kernels, ThreadPool& pool, AttentionScratch& scratch,
                   std::span<const AttendJob> jobs) {
  if (jobs.empty()) return;
  AttentionScratch::Memory& memory = *scratch.memory_;
  std::vector<TilePlan>& tiles = memory.tiles;
  list_tiles(jobs, tiles);

  const KvPages& pages = jobs.front().pages;
  const ptrdiff_t worker_floats =
      round_up(kernels.scratch_floats(pages.k_head_size, pages.v_columns), 16);
  float* workers = memory.workers.reserve_floats(pool.threads() * worker_floats);
  const auto count = static_cast<int64_t>(tiles.size());
  int64_t work = 0;
  int64_t chunks = 0;
  for (const TilePlan& plan : tiles) {
    work += multiplications(plan);
    chunks += plan.chunks;
  }

  const auto run_tile = [&](int64_t index, int worker) {
    kernels.attend(tiles[static_cast<size_t>(index)].tile, workers + worker * worker_floats);
  };
  if (pool.threads() == 1 || work < kAloneMultiplications) {
    for (int64_t i = 0; i < count; ++i) run_tile(i, 0);
    return;
  }
  if (count >= kTasksAThread * pool.threads() || chunks == count) {
    pool.run(count, run_tile);
    return;
  }

  list_chunks(tiles, memory.tasks);
  const TilePlan& last = tiles.back();
  float* partials =
      memory.partials.reserve_floats(last.partials + last.chunks * chunk_floats(last.tile));
  if (memory.chunks_left.size() < tiles.size()) {
    memory.chunks_left = std::vector<std::atomic<int>>(tiles.size());
  }
  for (size_t t = 0; t < tiles.size(); ++t) {
    memory.chunks_left[t].store(tiles[t].chunks, std::memory_order_relaxed);
  }
  pool.run(static_cast<int64_t>(memory.tasks.size()), [&](int64_t index, int worker) {
    const ChunkTask task = memory.tasks[static_cast<size_t>(index)];
    const TilePlan& plan = tiles[static_cast<size_t>(task.tile)];
    float* own = workers + worker * worker_floats;
    float* tile_partials = partials + plan.partials;
    kernels.attend_chunk(plan.tile, plan.first_chunk + task.chunk,
                         tile_partials + task.chunk * chunk_floats(plan.tile), own);
    // Whoever finishes a tile's last chunk merges them all, in their order.
    auto& left = memory.chunks_left[static_cast<size_t>(task.tile)];
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      kernels.merge(plan.tile, plan.first_chunk, plan.chunks, tile_partials, own);
    }
  });
}

}  // namespace lockstep::device::cpu
