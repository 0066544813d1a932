#include "kv/sequence_pages.h"

#include <algorithm>

#include "kv/window.h"

namespace lockstep::kv {
namespace {

constexpr PageId kNoPage{-1};

}  // namespace

SequencePages::SequencePages(Pool& pool, PrefixIndex::Node node)
    : pool_(pool), node_(node), pages_(static_cast<size_t>(pool.groups())) {
  pool_.sequences_.insert(this);
}

SequencePages::~SequencePages() {
  for (size_t g = 0; g < pages_.size(); ++g) {
    for (const PageId page : pages_[g]) {
      if (page != kNoPage) allocator(g).release(page);
    }
  }
  pool_.index().unpin(node_);
  pool_.sequences_.erase(this);
}

std::unique_ptr<SequencePages> SequencePages::adopt(Pool& pool, std::string_view salt,
                                                    std::span<const TokenId> tokens, int most) {
  PrefixIndex& index = pool.index();
  std::unique_ptr<SequencePages> out(new SequencePages(pool, index.match(salt, tokens, most)));
  const int depth = index.depth(out->node_);
  out->positions_ = depth * kPagePositions;
  for (size_t g = 0; g < out->pages_.size(); ++g) {
    auto& table = out->pages_[g];
    table.assign(static_cast<size_t>(depth), kNoPage);
    const int first = first_page_read(pool.layout().groups[g], out->positions_);
    PrefixIndex::Node node = out->node_;
    for (int i = depth - 1; i >= first; --i, node = index.ancestor(node, i + 1)) {
      table[static_cast<size_t>(i)] = index.page(node, static_cast<int>(g));
      pool.pages(static_cast<int>(g)).add_reference(table[static_cast<size_t>(i)]);
    }
  }
  return out;
}

bool SequencePages::next_page_is_shared(size_t group) const {
  if (positions_ % kPagePositions == 0) return false;
  return allocator(group).references(pages_[group].back()) > 1;
}

bool SequencePages::make_room(size_t group, size_t pages) {
  // Making room may take the other user of a shared page, which then needs no copy.
  const auto missing = [&] {
    const size_t wanted = pages - pages_[group].size() + next_page_is_shared(group);
    return wanted > static_cast<size_t>(allocator(group).free_pages());
  };
  while (missing()) {
    if (allocator(group).only_held_pages() == 0 && !next_page_is_shared(group)) return false;
    if (!pool_.index().evict(static_cast<int>(group))) return false;
  }
  return true;
}

Status SequencePages::append(int count, std::vector<PageCopy>& copies) {
  const auto pages = static_cast<size_t>(pages_for(positions_ + count));
  for (size_t g = 0; g < pages_.size(); ++g) {
    if (make_room(g, pages)) continue;
    return resource_exhausted("{} more positions need {} more K/V pages; {} of {} are free", count,
                              pages - pages_[g].size() + next_page_is_shared(g),
                              allocator(g).free_pages(), allocator(g).pages());
  }
  for (size_t g = 0; g < pages_.size(); ++g) {
    const auto take = [&] {
      auto page = allocator(g).allocate();
      LOCKSTEP_CHECK(page.ok());  // counted above
      return *page;
    };
    if (next_page_is_shared(g)) {
      PageId& last = pages_[g].back();
      const PageId shared = last;
      last = take();
      copies.push_back({.group = static_cast<int>(g),
                        .from = shared,
                        .to = last,
                        .positions = positions_ % kPagePositions});
      allocator(g).release(shared);
    }
    while (pages_[g].size() < pages) pages_[g].push_back(take());
  }
  positions_ += count;
  return ok_status();
}

void SequencePages::record(std::span<const TokenId> tokens) {
  LOCKSTEP_CHECK(tokens.size() <= static_cast<size_t>(positions_));
  PrefixIndex& index = pool_.index();
  const int whole = static_cast<int>(tokens.size()) / kPagePositions;
  for (int i = index.depth(node_); i < whole; ++i) {
    const auto at = static_cast<size_t>(i);
    std::vector<PageId> own;
    own.reserve(pages_.size());
    for (const auto& table : pages_) own.push_back(table[at]);
    node_ = index.insert(node_, tokens.subspan(at * kPagePositions, kPagePositions), own);
    for (size_t g = 0; g < pages_.size(); ++g) {
      const PageId held = index.page(node_, static_cast<int>(g));
      if (own[g] == kNoPage || held == own[g]) continue;
      allocator(g).add_reference(held);
      allocator(g).release(own[g]);
      pages_[g][at] = held;
    }
  }
  for (size_t g = 0; g < pages_.size(); ++g) {
    const int first = first_page_read(pool_.layout().groups[g], static_cast<int>(tokens.size()));
    for (int i = first - 1; i >= 0 && pages_[g][static_cast<size_t>(i)] != kNoPage; --i) {
      allocator(g).release(pages_[g][static_cast<size_t>(i)]);
      pages_[g][static_cast<size_t>(i)] = kNoPage;
    }
  }
}

int SequencePages::trim(int positions) {
  int kept = std::clamp(positions, 0, positions_);
  for (size_t g = 0; g < pages_.size(); ++g) {
    const int first = first_page_read(pool_.layout().groups[g], kept);
    if (first < pages_for(kept) && pages_[g][static_cast<size_t>(first)] == kNoPage) kept = 0;
  }
  for (size_t g = 0; g < pages_.size(); ++g) {
    auto& table = pages_[g];
    while (table.size() > static_cast<size_t>(pages_for(kept))) {
      if (table.back() != kNoPage) allocator(g).release(table.back());
      table.pop_back();
    }
  }
  positions_ = kept;
  PrefixIndex& index = pool_.index();
  if (const int depth = kept / kPagePositions; depth < index.depth(node_)) {
    const PrefixIndex::Node above = index.ancestor(node_, depth);
    index.pin(above);
    index.unpin(node_);
    node_ = above;
  }
  return kept;
}

std::unique_ptr<SequencePages> SequencePages::fork() const {
  pool_.index().pin(node_);
  std::unique_ptr<SequencePages> out(new SequencePages(pool_, node_));
  out->positions_ = positions_;
  out->pages_ = pages_;
  for (size_t g = 0; g < pages_.size(); ++g) {
    for (const PageId page : pages_[g]) {
      if (page != kNoPage) allocator(g).add_reference(page);
    }
  }
  return out;
}

std::vector<std::span<const PageId>> SequencePages::tables() const {
  return {pages_.begin(), pages_.end()};
}

}  // namespace lockstep::kv
