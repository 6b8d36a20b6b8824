"""Loops over bytes, tokens and n-grams.

An n-gram is stored as a pair: its first n - 1 tokens, which are a numbered n-gram themselves, and its last
token, packed into 64 bits. Tokens and pairs are numbered by hash tables with linear probing. The tables hold
numbers only; keys and counts are kept in arrays ("nodes") in the order in which they were first seen, so that
frequent n-grams, which are seen early, are close to each other in memory.

To fill a table on several threads, it is divided into shards by the hash. Every thread reads all texts and
handles the keys of its own shard, so no lock is needed and the result does not depend on timing. Each thread
starts at a different text, since cores that write to neighbouring memory slow each other down.
"""

import numpy as np

from dropglm.maths.compile import inlined, kernel

FREE = -1
# Columns of the nodes: the key, the last text that contains it, the number of texts that contain it, and the
# number of occurrences. Two nodes fill one cache line.
KEY, SEEN, TEXTS, TIMES = 0, 1, 2, 3
BLOCK = 64  # n-grams whose slots are fetched before the first one is used, so that memory latencies overlap

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF, _BYTE, _TOP = np.uint64(32), np.uint64(8), np.uint64(56)
_LONG = np.uint64(0xFF) << _TOP


@inlined
def mix(key):
    """Return a hash of 64 bits, each of which depends on all bits of the key."""
    h = np.uint64(key) * _GOLDEN
    h = (h ^ (h >> _HALF)) * _GOLDEN
    return h ^ (h >> _HALF)


@inlined
def shard_of(h, shards):
    """Return the shard of a hash, from its upper half."""
    return np.int64(((h >> _HALF) * np.uint64(shards)) >> _HALF)


@inlined
def slot_of(h, slots):
    """Return the first slot to probe, from the lower half of the hash; there are 2^k slots."""
    return np.int64(h & np.uint64(len(slots) - 1))


@inlined
def short_key(packed, size):
    """Return the key of a token of at most seven bytes: the bytes themselves, preceded by their number."""
    n = np.uint64(size)
    return np.int64((n << _BYTE * n | packed) << _BYTE * (np.uint64(7) - n))


@inlined
def long_key(letters, start, stop):
    """Return the key of a token of eight bytes or more: a hash, made negative."""
    h = _OFFSET
    for k in range(start, stop):
        h = (h ^ np.uint64(letters[k])) * _PRIME
    return np.int64(h | _LONG)


@inlined
def token_key(letters, start, stop):
    """Return the key of a token."""
    if stop - start > 7:
        return long_key(letters, start, stop)
    packed = np.uint64(0)
    for k in range(start, stop):
        packed = packed << _BYTE | np.uint64(letters[k])
    return short_key(packed, stop - start)


@inlined
def decode(letters, p):
    """Return the code point that begins at p, and where the next one begins."""
    lead = letters[p]
    code, after = np.int64(lead), p + 1
    if lead >= 0x80:  # 2, 3 or 4 bytes
        more = 1 if lead < 0xE0 else (2 if lead < 0xF0 else 3)
        code = np.int64(lead) & (0x3F >> more)
        for _ in range(more):
            code = code << 6 | (np.int64(letters[after]) & 0x3F)
            after += 1
    return code, after


@kernel
def scan(letters, ends, classes, shortest, first, last, counts, starts, stops, keys):
    """Split texts first to last - 1 into tokens, by the class of each character.

    Bytes are packed during the scan: most tokens are short, so their keys need no second pass.
    """
    for i in range(first, last):
        place, p, end = ends[i], ends[i], ends[i + 1]
        while p < end:
            start, length, packed = p, 0, np.uint64(0)
            code, after = np.int64(0), p
            while p < end:
                lead = letters[p]
                if lead < 0x80:
                    code, after = np.int64(lead), p + 1
                else:
                    code, after = decode(letters, p)
                if classes[code] != 1:
                    break
                packed = packed << _BYTE | np.uint64(lead)
                for k in range(p + 1, after):
                    packed = packed << _BYTE | np.uint64(letters[k])
                length += 1
                p = after
            if length >= max(shortest, 1):
                starts[place], stops[place] = start, p
                keys[place] = short_key(packed, p - start) if p - start < 8 else long_key(letters, start, p)
                place += 1
            if p < end:  # the character that ended the run
                if classes[code] == 2:
                    starts[place], stops[place] = p, after
                    keys[place] = token_key(letters, p, after)
                    place += 1
                p = after
        counts[i] = place - ends[i]


@kernel
def keys_of(letters, ends, keys):
    """Compute the key of each of the concatenated strings."""
    for i in range(len(keys)):
        keys[i] = token_key(letters, ends[i], ends[i + 1])


@inlined
def equal_strings(letters, start, stop, others, begin, end):
    """Return whether two strings are equal."""
    if stop - start != end - begin:
        return False
    k = 0
    while k < stop - start and letters[start + k] == others[begin + k]:
        k += 1
    return k == stop - start


@inlined
def token_slot(letters, start, stop, key, slots, keys, known, ends):
    """Return the slot of this token, or the free slot where it belongs."""
    slot = slot_of(mix(key), slots)
    while slots[slot] != FREE:
        found = slots[slot]
        if keys[found] == key and (
            key >= 0 or equal_strings(letters, start, stop, known, ends[found], ends[found + 1])
        ):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def pair_slot(key, slot, slots, keys):
    """Probe from this slot on; return the slot of this pair, or the free slot where it belongs."""
    while slots[slot] != FREE and keys[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@inlined
def count_node(node, text, nodes):
    """Count an occurrence; return whether it is the first one in this text."""
    nodes[node, TIMES] += 1
    if nodes[node, SEEN] == text:
        return False
    nodes[node, SEEN] = text
    nodes[node, TEXTS] += 1
    return True


@inlined
def add_node(key, nodes, size, slots, slot):
    """Add a node and return its number."""
    node = size[0]
    nodes[node, KEY], nodes[node, SEEN], nodes[node, TEXTS], nodes[node, TIMES] = key, -1, 0, 0
    slots[slot] = node
    size[0] += 1
    return node


@kernel
def refill(slots, keys, size):
    """Insert the first ``size`` nodes into empty slots."""
    for node in range(size):
        slot = slot_of(mix(keys[node]), slots)
        while slots[slot] != FREE:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = node


@kernel
def add_tokens(tokens, first_text, shard, shards, slots, nodes, size, known, ends, numbers, new):
    """Number the tokens of one shard, adding new ones; the texts are first_text, first_text + 1, …"""
    n, known_keys = len(tokens.first), nodes[:, KEY]
    places, wanted = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    fetched, stored = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for turn in range(n):
        i = (turn + n * shard // shards) % n
        end = tokens.first[i] + tokens.counts[i]
        for begin in range(tokens.first[i], end, BLOCK):
            mine = 0
            for p in range(begin, min(begin + BLOCK, end)):
                h = mix(tokens.keys[p])
                if shard_of(h, shards) == shard:
                    places[mine], wanted[mine] = p, slot_of(h, slots)
                    mine += 1
            for k in range(mine):
                fetched[k] = slots[wanted[k]]
            for k in range(mine):
                stored[k] = nodes[fetched[k], KEY] if fetched[k] != FREE else FREE
            for k in range(mine):
                p, node = places[k], fetched[k]
                key = tokens.keys[p]
                if key < 0 or stored[k] != key:
                    start, stop = tokens.start[p], tokens.stop[p]
                    slot = token_slot(tokens.letters, start, stop, key, slots, known_keys, known, ends)
                    if slots[slot] == FREE:
                        node = add_node(key, nodes, size, slots, slot)
                        for j in range(stop - start):
                            known[ends[node] + j] = tokens.letters[start + j]
                        ends[node + 1] = ends[node] + stop - start
                    node = np.int64(slots[slot])
                numbers[p] = node * shards + shard
                new[p] = count_node(node, first_text + i, nodes)


@kernel
def drop_tokens(tokens, first, last, slots, keys, known, ends):
    """Remove the known tokens from texts first to last - 1, in place."""
    for i in range(first, last):
        begin = place = tokens.first[i]
        for p in range(begin, begin + tokens.counts[i]):
            start, stop, key = tokens.start[p], tokens.stop[p], tokens.keys[p]
            if slots[token_slot(tokens.letters, start, stop, key, slots, keys, known, ends)] == FREE:
                tokens.start[place], tokens.stop[place], tokens.keys[place] = start, stop, key
                place += 1
        tokens.counts[i] = place - begin


@kernel
def add_pairs(tokens, first_text, shard, shards, slots, nodes, size, heads, tails, n, numbers, new):
    """Number the n-grams of one shard, given the numbers of the (n - 1)-grams and of the tokens."""
    count, known_keys = len(tokens.first), nodes[:, KEY]
    places, keys = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    wanted, fetched = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for turn in range(count):
        i = (turn + count * shard // shards) % count
        end = tokens.first[i] + tokens.counts[i] - n + 1
        for begin in range(tokens.first[i], end, BLOCK):
            mine = 0
            for p in range(begin, min(begin + BLOCK, end)):
                key = np.int64(heads[p]) << 32 | np.int64(tails[p + n - 1])
                h = mix(key)
                if shard_of(h, shards) == shard:
                    places[mine], keys[mine], wanted[mine] = p, key, slot_of(h, slots)
                    mine += 1
            for k in range(mine):
                fetched[k] = slots[wanted[k]]
            for k in range(mine):
                if fetched[k] != FREE:
                    fetched[k] = nodes[fetched[k], KEY]
            for k in range(mine):
                p, key = places[k], keys[k]
                slot = pair_slot(key, wanted[k], slots, known_keys)
                node = np.int64(slots[slot])
                if node == FREE:
                    node = add_node(key, nodes, size, slots, slot)
                numbers[p] = node * shards + shard
                new[p] = count_node(node, first_text + i, nodes)


@kernel
def find_tokens(tokens, first, last, slots, keys, known, ends, numbers):
    """Look up the numbers of the tokens of texts first to last - 1; -1 if unknown."""
    wanted, fetched = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    stored = np.empty(BLOCK, np.int64)
    for i in range(first, last):
        end = tokens.first[i] + tokens.counts[i]
        for begin in range(tokens.first[i], end, BLOCK):
            size = min(BLOCK, end - begin)
            for k in range(size):
                wanted[k] = slot_of(mix(tokens.keys[begin + k]), slots)
            for k in range(size):
                fetched[k] = slots[wanted[k]]
            for k in range(size):
                stored[k] = keys[fetched[k]] if fetched[k] != FREE else FREE
            for k in range(size):
                key = tokens.keys[begin + k]
                if fetched[k] != FREE and (key < 0 or stored[k] != key):
                    start, stop = tokens.start[begin + k], tokens.stop[begin + k]
                    slot = token_slot(tokens.letters, start, stop, key, slots, keys, known, ends)
                    fetched[k] = slots[slot]
                numbers[begin + k] = fetched[k]


@kernel
def find_pairs(tokens, first, last, slots, keys, heads, tails, n, numbers):
    """Look up the numbers of the n-grams, given those of the (n - 1)-grams and of the tokens."""
    sought, wanted = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    fetched, stored = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for i in range(first, last):
        end = tokens.first[i] + tokens.counts[i] - n + 1
        for begin in range(tokens.first[i], end, BLOCK):
            size = min(BLOCK, end - begin)
            for k in range(size):
                # Negative if the head or the tail is unknown; no key of the table is.
                sought[k] = np.int64(heads[begin + k]) << 32 | np.int64(tails[begin + k + n - 1])
                wanted[k] = slot_of(mix(sought[k]), slots)
            for k in range(size):
                fetched[k] = slots[wanted[k]]
            for k in range(size):
                stored[k] = keys[fetched[k]] if fetched[k] != FREE else FREE
            for k in range(size):
                if sought[k] < 0:
                    fetched[k] = FREE
                elif fetched[k] != FREE and stored[k] != sought[k]:
                    fetched[k] = slots[pair_slot(sought[k], wanted[k], slots, keys)]
                numbers[begin + k] = fetched[k]
