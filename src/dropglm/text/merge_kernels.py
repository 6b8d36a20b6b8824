"""Loops that merge the tables of several threads.

The entries of all tables are put one after another, and divided into shards by their hash. Each thread then
numbers the distinct keys of one shard, so no lock is needed.
"""

import numpy as np

from dropglm.maths.compile import inlined, kernel
from dropglm.maths.prefetch import prefetch
from dropglm.text.kernels import BLOCK, FREE, KEY, PAIR, TEXTS, TIMES, equal_strings, first_slot, mix

MAX_SHARDS = 64
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
def gather_entries(nodes, levels, level, tokens, pairs, first, keys, texts, times, sizes, grouped):
    """Copy the nodes of one table with this number of tokens to their place among all entries.

    The keys of pairs are spelled with the numbers that their head and tail have among all entries. ``sizes``
    are the numbers of entries in each shard, and ``grouped`` are the entries, shard by shard.
    """
    for s in range(len(sizes)):
        sizes[s] = 0
    for node in range(len(keys)):
        if levels[node] == level:
            key = nodes[node, KEY]
            if level > 1:
                head = key >> 32
                head = tokens[head] if head < PAIR else PAIR + pairs[head - PAIR]
                key = np.int64(head) << 32 | np.int64(tokens[key & 0xFFFFFFFF])
            keys[node], texts[node], times[node] = key, nodes[node, TEXTS], nodes[node, TIMES]
            sizes[shard_of(mix(key), len(sizes))] += 1
    places, total = np.empty(len(sizes), np.int64), 0
    for s in range(len(sizes)):
        places[s] = total
        total += sizes[s]
    for node in range(len(keys)):
        if levels[node] == level:
            s = shard_of(mix(keys[node]), len(sizes))
            grouped[places[s]] = first + node
            places[s] += 1


@kernel
def merge_shard(grouped, begins, ends_of, entries, letters, ends, slots, base, limit, numbers, merged):
    """Number the distinct keys of a shard base, base + 1, … and add up their counts.

    The entries of the shard are ``grouped[begins[t] : ends_of[t]]`` for each table t. ``entries`` are the
    keys, counts of texts and counts of occurrences of all entries; ``merged`` are those of all numbers, and
    their first entries. Numbers up to the limit that are not used have counts of 0.
    """
    keys, texts, times = entries
    merged_keys, merged_texts, merged_times, firsts = merged
    size = base
    for t in range(len(begins)):
        for begin in range(begins[t], ends_of[t], BLOCK):
            end = min(begin + BLOCK, ends_of[t])
            for k in range(begin, end):  # bring into the cache what is needed next
                number = slots[first_slot(keys[grouped[k]], slots)]
                if number != FREE:
                    prefetch(merged_keys, number)
                    prefetch(merged_texts, number)
                    prefetch(merged_times, number)
            for k in range(begin, end):
                entry = np.int64(grouped[k])
                key = keys[entry]
                slot = first_slot(key, slots)
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
