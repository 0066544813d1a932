#include "kv/prefix_index.h"

#include <algorithm>
#include <ranges>

#include "kv/window.h"

namespace lockstep::kv {

namespace {

constexpr PageId kNoPage{-1};

bool is_window(const LayerGroup& group) { return group.kind == StateKind::kWindow; }

}  // namespace

PrefixIndex::PrefixIndex(const StateLayout& layout, std::span<PageAllocator> groups)
    : layout_(layout), groups_(groups), in_window_(groups.size()) {}

PrefixIndex::~PrefixIndex() {
  for (Node node = 0; node < static_cast<Node>(entries_.size()); ++node) {
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) drop_page(node, g);
  }
}

PrefixIndex::Node PrefixIndex::new_entry() {
  if (free_entries_.empty()) {
    entries_.emplace_back();
    free_entries_.push_back(static_cast<Node>(entries_.size() - 1));
  }
  const Node node = free_entries_.back();
  free_entries_.pop_back();
  at(node) = Entry();
  at(node).live = true;
  at(node).pages.assign(groups_.size(), kNoPage);
  return node;
}

PrefixIndex::Node PrefixIndex::root(std::string_view salt) {
  const auto found = roots_.find(salt);
  if (found != roots_.end()) return found->second;
  const Node node = new_entry();
  at(node).salt = salt;
  roots_.emplace(std::string(salt), node);
  return node;
}

bool PrefixIndex::can_go_on(Node node) const {
  const int position = at(node).depth * kPagePositions;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (!is_window(layout_.groups[g])) continue;  // every node has its page
    const int first = first_page_read(layout_.groups[g], position);
    for (Node n = node; at(n).depth > first; n = at(n).parent) {
      if (at(n).pages[g] == kNoPage) return false;
    }
  }
  return true;
}

PrefixIndex::Node PrefixIndex::match(std::string_view salt, std::span<const TokenId> tokens,
                                     int most) {
  Node node = root(salt);
  const size_t pages = std::min(tokens.size(), static_cast<size_t>(std::max(most, 0))) /
                       static_cast<size_t>(kPagePositions);
  Key key{node, {}};
  for (size_t i = 0; i < pages; ++i) {
    key.first = node;
    std::ranges::transform(tokens.subspan(i * kPagePositions, kPagePositions), key.second.begin(),
                           &TokenId::value);
    const auto found = children_.find(key);
    if (found == children_.end()) break;
    node = found->second;
  }
  // A page of a window may have gone where the rest of the path has not.
  while (!can_go_on(node)) node = at(node).parent;
  touch(node);
  pin(node);
  return node;
}

void PrefixIndex::touch(Node node) {
  ++clock_;
  for (Node n = node; n != kNone; n = at(n).parent) {
    unlist(n);
    at(n).last_use = clock_;
    list(n);
  }
}

PrefixIndex::Node PrefixIndex::insert(Node parent, std::span<const TokenId> tokens,
                                      std::span<const PageId> pages) {
  LOCKSTEP_CHECK(tokens.size() == kPagePositions && pages.size() == groups_.size());
  Key key{parent, {}};
  std::ranges::transform(tokens, key.second.begin(), &TokenId::value);
  const auto found = children_.find(key);
  Node node = found == children_.end() ? kNone : found->second;
  if (node == kNone) {
    node = new_entry();
    at(node).parent = parent;
    at(node).ids = key.second;
    at(node).depth = at(parent).depth + 1;
    at(node).last_use = ++clock_;
    children_.emplace(key, node);
    ++nodes_;
    unlist(parent);
    ++at(parent).children;
  } else {
    unlist(node);
  }
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
    const PageId mine = pages[static_cast<size_t>(g)];
    if (page(node, g) == kNoPage && mine != kNoPage) hold_page(node, g, mine);
  }
  list(node);
  pin(node);
  unpin(parent);
  return node;
}

void PrefixIndex::list(Node node) {
  const Entry& entry = at(node);
  if (entry.depth == 0) return;
  const std::pair key{entry.last_use, node};
  if (entry.evictable()) leaves_.insert(key);
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (is_window(layout_.groups[g]) && entry.pages[g] != kNoPage) in_window_[g].insert(key);
  }
}

void PrefixIndex::unlist(Node node) {
  const Entry& entry = at(node);
  const std::pair key{entry.last_use, node};
  leaves_.erase(key);
  for (size_t g = 0; g < groups_.size(); ++g) in_window_[g].erase(key);
}

void PrefixIndex::pin(Node node) {
  unlist(node);
  ++at(node).pins;
  ++pins_;
  list(node);
}

void PrefixIndex::unpin(Node node) {
  LOCKSTEP_CHECK(at(node).pins > 0);
  unlist(node);
  --at(node).pins;
  --pins_;
  if (at(node).depth == 0 && at(node).evictable()) {
    remove(node);
  } else {
    list(node);
  }
}

PrefixIndex::Node PrefixIndex::ancestor(Node node, int depth) const {
  while (at(node).depth > depth) node = at(node).parent;
  return node;
}

void PrefixIndex::hold_page(Node node, int group, PageId page) {
  groups_[static_cast<size_t>(group)].hold(page);
  at(node).pages[static_cast<size_t>(group)] = page;
}

void PrefixIndex::drop_page(Node node, int group) {
  Entry& entry = at(node);
  if (!entry.live) return;
  PageId& page = entry.pages[static_cast<size_t>(group)];
  if (page == kNoPage) return;
  groups_[static_cast<size_t>(group)].drop_hold(page);
  page = kNoPage;
}

void PrefixIndex::remove(Node node) {
  unlist(node);
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) drop_page(node, g);
  const Node parent = at(node).parent;
  if (parent == kNone) {
    roots_.erase(at(node).salt);
  } else {
    children_.erase(Key{parent, at(node).ids});
    --nodes_;
  }
  at(node) = Entry();
  free_entries_.push_back(node);
  if (parent == kNone) return;
  --at(parent).children;
  if (at(parent).depth == 0 && at(parent).evictable()) {
    remove(parent);
  } else {
    list(parent);
  }
}

bool PrefixIndex::evict(int group) {
  if (!is_window(layout_.groups[static_cast<size_t>(group)])) {
    if (leaves_.empty()) return false;
    remove(leaves_.begin()->second);
    return true;
  }
  const PageAllocator& pages = groups_[static_cast<size_t>(group)];
  const Order& order = in_window_[static_cast<size_t>(group)];
  const auto oldest = std::ranges::find_if(
      order, [&](const auto& entry) { return pages.references(page(entry.second, group)) == 1; });
  if (oldest == order.end()) return false;
  const Node node = oldest->second;
  unlist(node);
  drop_page(node, group);
  list(node);
  return true;
}

Status PrefixIndex::check_integrity() const {
  int nodes = 0;
  int pins = 0;
  std::vector<int> children(entries_.size(), 0);
  std::vector<std::vector<bool>> used(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    used[g].resize(static_cast<size_t>(groups_[g].pages()));
  }
  for (size_t n = 0; n < entries_.size(); ++n) {
    const Entry& entry = entries_[n];
    if (!entry.live) continue;
    pins += entry.pins;
    if (entry.depth == 0) continue;
    ++nodes;
    if (!at(entry.parent).live) return internal_error("prefix node {} has lost its parent", n);
    ++children[static_cast<size_t>(entry.parent)];
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (entry.pages[g] == kNoPage) continue;
      const auto at_page = static_cast<size_t>(entry.pages[g].value);
      if (used[g][at_page] || !groups_[g].is_held(entry.pages[g])) {
        return internal_error("page {} of prefix node {} is not held once", at_page, n);
      }
      used[g][at_page] = true;
    }
  }
  for (size_t n = 0; n < entries_.size(); ++n) {
    if (children[n] != entries_[n].children) {
      return internal_error("prefix node {} counts {} children, not {}", n, entries_[n].children,
                            children[n]);
    }
    const bool leaf = entries_[n].depth > 0 && entries_[n].evictable();
    if (leaf != leaves_.contains({entries_[n].last_use, static_cast<Node>(n)})) {
      return internal_error("prefix node {} is in the wrong order of use", n);
    }
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (int32_t p = 0; p < groups_[g].pages(); ++p) {
      if (groups_[g].is_held(PageId{p}) && !used[g][static_cast<size_t>(p)]) {
        return internal_error("page {} is held but in no prefix node", p);
      }
    }
  }
  if (nodes != nodes_ || pins != pins_ || children_.size() != static_cast<size_t>(nodes)) {
    return internal_error("prefix index counts {} nodes and {} pins, not {} and {}", nodes_, pins_,
                          nodes, pins);
  }
  return ok_status();
}

}  // namespace lockstep::kv
