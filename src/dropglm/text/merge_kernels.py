"""Loops that merge the tables of several threads.

The entries of all tables are put one after another, and divided into shards by their hash. Each thread then
numbers the distinct keys of one shard, so no lock is needed.
"""

import numpy as np

from dropglm.maths.compile import inlined, kernel
from dropglm.text.kernels import BLOCK, FREE, KEY, PAIR, TEXTS, TIMES, equal_strings, mix, slot_of

MAX_SHARDS = 64
OTHER = np.uint8(255)  # the shard of entries that are merged later
_HALF = np.uint64(32)


@inlined
def shard_of(h, shards):
    """Return the shard of a hash, from its upper half."""
    return np.int64(((h >> _HALF) * np.uint64(shards)) >> _HALF)


@kernel
def levels_of(nodes, size, levels):
    """Write the number of tokens of each pair; the head of a pair has a smaller number than the pair."""
    for node in range(size):
        head = nodes[node, KEY] >> 32
        levels[node] = 2 if head < PAIR else levels[head - PAIR] + 1


@kernel
def gather_entries(nodes, levels, level, tokens, pairs, shards, keys, shard, texts, times, sizes):
    """Copy the nodes of one table to their place among all entries, and find the shard of those of a level.

    The keys of pairs are spelled with the numbers that their head and tail have among all entries.
    """
    sizes[:] = 0
    for node in range(len(keys)):
        if levels[node] != level:
            shard[node] = OTHER
            continue
        key = nodes[node, KEY]
        if level > 1:
            head = key >> 32
            head = tokens[head] if head < PAIR else PAIR + pairs[head - PAIR]
            key = np.int64(head) << 32 | np.int64(tokens[key & 0xFFFFFFFF])
        s = shard_of(mix(key), shards)
        keys[node], shard[node], texts[node], times[node] = key, s, nodes[node, TEXTS], nodes[node, TIMES]
        sizes[s] += 1


@kernel
def merge_shard(shard, s, keys, texts, times, letters, ends, slots, base, limit, numbers, merged):
    """Number the distinct keys of a shard base, base + 1, … and add up their counts.

    ``merged`` are the keys, counts of texts, counts of occurrences and first entries of all numbers. Numbers
    up to the limit that are not used have counts of 0.
    """
    merged_keys, merged_texts, merged_times, firsts = merged
    mine, fetched = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    size, i = base, 0
    while i < len(shard):
        block = 0
        while i < len(shard) and block < BLOCK:
            mine[block] = i
            block += shard[i] == s
            i += 1
        for k in range(block):
            fetched[k] = slots[slot_of(mix(keys[mine[k]]), slots)]
        for k in range(block):
            if fetched[k] != FREE:
                fetched[k] = merged_keys[fetched[k]]
        for k in range(block):
            entry = mine[k]
            key = keys[entry]
            slot = slot_of(mix(key), slots)
            while slots[slot] != FREE:
                number = slots[slot]
                if merged_keys[number] == key:
                    other = firsts[number]
                    if key >= 0 or equal_strings(
                        letters, ends[entry], ends[entry + 1], letters, ends[other], ends[other + 1]
                    ):
                        break
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] == FREE:
                slots[slot] = size
                merged_keys[size], firsts[size] = key, entry
                merged_texts[size] = merged_times[size] = 0
                size += 1
            number = slots[slot]
            numbers[entry] = number
            merged_texts[number] += texts[entry]
            merged_times[number] += times[entry]
    for number in range(size, limit):
        merged_texts[number] = merged_times[number] = merged_keys[number] = firsts[number] = 0
