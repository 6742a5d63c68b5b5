/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t constants[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
    0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,
    0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
    0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
    0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
    0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t
rotate(uint32_t word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

static void
digest_block(uint32_t state[8], const unsigned char block[BLOCK])
{
	uint32_t schedule[64], v[8];
	for (int i = 0; i < 16; i++)
		schedule[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		    (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t one = schedule[i - 15], other = schedule[i - 2];
		schedule[i] = schedule[i - 16] + schedule[i - 7] +
		    (rotate(one, 7) ^ rotate(one, 18) ^ one >> 3) +
		    (rotate(other, 17) ^ rotate(other, 19) ^ other >> 10);
	}
	memcpy(v, state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
		    ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + schedule[i];
		uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
		    ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += first;
		v[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void
sha256(const void *bytes, size_t length, unsigned char digest[SHA256_SIZE])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
	    0x1f83d9ab, 0x5be0cd19};
	const unsigned char *at = bytes;
	unsigned char last[2 * BLOCK] = {0};
	uint64_t bits = (uint64_t)length * 8;
	for (; length >= BLOCK; length -= BLOCK, at += BLOCK)
		digest_block(state, at);
	/* What is left, a bit, and the length in the last eight bytes. */
	memcpy(last, at, length);
	last[length] = 0x80;
	size_t end = length + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	for (int i = 0; i < 8; i++)
		last[end - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
	for (size_t done = 0; done < end; done += BLOCK)
		digest_block(state, last + done);
	for (int i = 0; i < 32; i++)
		digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}
