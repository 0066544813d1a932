// Pages that outlive their sequences: a tree over whole pages of token ids, in which a new sequence
// finds how much of its prompt has been computed before.
//
// A node is one page: 32 token ids after its parent's, with the page of every layer group that
// holds their state. A hit is a path of nodes whose ids all equal the prompt's; ids are compared,
// not only their hash. The root of a path is its salt: requests with different salts never share.
// The index belongs to one pool, and so to one model and one profile.
//
// The index holds a reference to each of its pages. What is held and used by nobody else is given
// back when the pool runs short, the longest unused first. A node's page of a window group may go
// alone: a hit at position p needs only the window before p.
//
// Thread rule: the engine's thread. Ownership: borrows the allocators, one a group.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/state_layout.h"
#include "base/status.h"
#include "base/vocabulary.h"
#include "kv/page_allocator.h"

namespace lockstep::kv {

class PrefixIndex {
 public:
  // A node, or the root of a salt. Valid while pinned, or while a node below it is.
  using Node = int32_t;
  static constexpr Node kNone = -1;

  PrefixIndex(const StateLayout& layout, std::span<PageAllocator> groups);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  // The deepest node at which a sequence over `tokens` can go on, at most `most` positions down,
  // pinned; the salt's root for none.
  Node match(std::string_view salt, std::span<const TokenId> tokens, int most);

  // The child of `parent` for these ids, pinned in `parent`'s place; made if there is none.
  // `pages`: the caller's page of each group, held where the node has none. A page that is not live
  // has value -1. REQUIRES kPagePositions tokens, a pinned parent.
  Node insert(Node parent, std::span<const TokenId> tokens, std::span<const PageId> pages);

  // A pinned node and those above it stay.
  void pin(Node node);
  void unpin(Node node);

  int depth(Node node) const { return at(node).depth; }  // pages from the root
  Node ancestor(Node node, int depth) const;             // REQUIRES depth <= depth(node)
  PageId page(Node node, int group) const { return at(node).pages[static_cast<size_t>(group)]; }

  // Lets go of the longest unused page of the group that no pin keeps; it is free then, unless a
  // sequence uses it too. False when there is none.
  bool evict(int group);

  int nodes() const { return nodes_; }
  int pins() const { return pins_; }

  // Every page of a node is held, and no other; counts agree. internal_error.
  Status check_integrity() const;

 private:
  using Ids = std::array<int32_t, kPagePositions>;
  using Key = std::pair<Node, Ids>;                   // parent and ids
  using Order = std::set<std::pair<uint64_t, Node>>;  // by last use

  struct Entry {
    Node parent = kNone;  // kNone: a root, or a free entry
    Ids ids{};
    std::vector<PageId> pages;  // [group], value -1 where there is none
    std::string salt;           // of a root
    int depth = 0;
    int children = 0;
    int pins = 0;
    uint64_t last_use = 0;
    bool live = false;
    bool evictable() const { return live && children == 0 && pins == 0; }
  };

  const Entry& at(Node node) const { return entries_[static_cast<size_t>(node)]; }
  Entry& at(Node node) { return entries_[static_cast<size_t>(node)]; }
  Node root(std::string_view salt);
  Node new_entry();
  void touch(Node node);
  bool can_go_on(Node node) const;
  // Puts a node into the orders that it belongs to, or takes it out before a change.
  void list(Node node);
  void unlist(Node node);
  void remove(Node node);
  void drop_page(Node node, int group);
  void hold_page(Node node, int group, PageId page);

  const StateLayout& layout_;
  std::span<PageAllocator> groups_;
  std::vector<Entry> entries_;
  std::vector<Node> free_entries_;
  absl::flat_hash_map<Key, Node> children_;  // looked up only: its order reaches nothing
  absl::flat_hash_map<std::string, Node, TextHash, std::equal_to<>> roots_;  // likewise
  Order leaves_;                  // nodes that may be removed
  std::vector<Order> in_window_;  // [group] nodes with a page there; window groups only
  uint64_t clock_ = 0;
  int nodes_ = 0;
  int pins_ = 0;
};

}  // namespace lockstep::kv
