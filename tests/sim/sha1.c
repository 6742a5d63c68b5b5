/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t
rotate(uint32_t word, unsigned int by)
{
	return word << by | word >> (32 - by);
}

static uint32_t
mix(unsigned int round, const uint32_t *state)
{
	uint32_t b = state[1], c = state[2], d = state[3];
	if (round < 20)
		return ((b & c) | (~b & d)) + 0x5a827999u;
	if (round < 40)
		return (b ^ c ^ d) + 0x6ed9eba1u;
	if (round < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
	return (b ^ c ^ d) + 0xca62c1d6u;
}

static void
take_block(uint32_t *hash, const unsigned char *block)
{
	uint32_t words[80], state[5];
	for (unsigned int i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		    (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned int i = 16; i < 80; i++)
		words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
	memcpy(state, hash, sizeof state);
	for (unsigned int i = 0; i < 80; i++) {
		uint32_t next = rotate(state[0], 5) + mix(i, state) + state[4] + words[i];
		state[4] = state[3];
		state[3] = state[2];
		state[2] = rotate(state[1], 30);
		state[1] = state[0];
		state[0] = next;
	}
	for (unsigned int i = 0; i < 5; i++)
		hash[i] += state[i];
}

void
sha1_hex(const char *text, size_t length, char out[41])
{
	uint32_t hash[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
	unsigned char last[128] = {0};
	size_t whole = length / 64 * 64, rest = length - whole;
	size_t end = rest < 56 ? 64 : 128;
	for (size_t at = 0; at < whole; at += 64)
		take_block(hash, (const unsigned char *)text + at);
	if (rest > 0)
		memcpy(last, text + whole, rest);
	last[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[end - 1 - i] = (unsigned char)((uint64_t)length * 8 >> 8 * i);
	for (size_t at = 0; at < end; at += 64)
		take_block(hash, last + at);
	for (size_t i = 0; i < 5; i++)
		snprintf(out + 8 * i, 9, "%08x", hash[i]);
}
