/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Asking RUNNER, from somewhere below it, about its lock: the two ends of it, and what is sent.
 *
 * RUNNER listens on a datagram socket with an abstract name that is random, so that nobody can take
 * it beforehand. A question is one datagram, an answer is another. There are no connections, so
 * nobody can use up RUNNER's descriptors, leave it with half a question, or keep it waiting; what
 * it does not like it forgets. The kernel attaches to each datagram who sent it, in the numbers of
 * whoever reads it: RUNNER looks at that, not at what the question says, also when the question
 * comes out of a pid namespace that was made below it. An abstract name is known in one network
 * namespace only: from another one RUNNER cannot be asked.
 *
 * A question may be sent again, its nonce says that it is the same; an answer carries it back, so
 * that one that was meant for a process of yesterday is not taken for today's. */
#ifndef DLOCK_RUN_INQUIRY_H
#define DLOCK_RUN_INQUIRY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/keys.h"
#include "run/held.h"

/* Begins every packet; that of a version whose packets differ is another. */
#define INQUIRY_MAGIC "dlock 2"

enum inquiry_kind {
	INQUIRY_ABOVE, /* are you above me, and do you hold it, as far as you know? */
	INQUIRY_HELD,  /* make sure at the server, then say whether you hold it */
};

enum inquiry_verdict {
	VERDICT_YES,
	VERDICT_LOST,        /* another has it, or the key is gone */
	VERDICT_UNCONFIRMED, /* the server did not confirm it in time; `reason` */
	VERDICT_ENDING,      /* it is being released, or COMMAND is being killed */
	VERDICT_STRANGER,    /* who asks does not descend from this RUNNER */
	VERDICT_REFUSED,     /* who asks is another user, and not root */
};

struct inquiry_question {
	char magic[sizeof INQUIRY_MAGIC];
	uint64_t nonce;
	int32_t kind; /* enum inquiry_kind */
	char token[TOKEN_SIZE];
};

struct inquiry_answer {
	char magic[sizeof INQUIRY_MAGIC];
	uint64_t nonce;
	int32_t verdict; /* enum inquiry_verdict */
	char token[TOKEN_SIZE];
	char fence[24];
	char slot[16]; /* of a lock with slots: which; else empty */
	char name[NAME_MAX_BYTES + 1];
	char key[KEY_SIZE];
	char reason[256];
};

/* -- RUNNER's end ----------------------------------------------------------------------------- */

#define INQUIRY_PEER_ADDRESS 32

/* Who asked, by the kernel's word. */
struct inquiry_peer {
	pid_t pid; /* 0: in no namespace of ours */
	uid_t uid; /* the real one */
	unsigned int address_length;
	char address[INQUIRY_PEER_ADDRESS];
};

/* Opens the socket and makes up its name. A descriptor that does not block, or -1 and errno. */
int
inquiry_listen(char address[HELD_ADDRESS_SIZE]);

/* Takes one datagram. 1: a question; 0: it is none; -1: nothing is there. */
int
inquiry_hear(int fd, struct inquiry_question *question, struct inquiry_peer *peer);

/* Sends it without waiting: who does not listen misses it, and may ask again. */
void
inquiry_reply(const struct inquiry_peer *peer, const struct inquiry_question *question,
    struct inquiry_answer *answer);

/* -- the asking end --------------------------------------------------------------------------- */

/* RUNNER itself gives a question up after at most 2 s (lease_confirm_limit); the rest is for a
 * machine that is busy. */
#define INQUIRY_LIMIT_NS (3 * NS_PER_S)

enum inquiry_result {
	INQUIRY_ANSWERED,
	INQUIRY_NOBODY, /* nobody listens: RUNNER has ended, or is in another network namespace */
	INQUIRY_SILENT, /* no answer in time */
	INQUIRY_INTERRUPTED, /* `interrupt_fd` became readable */
	INQUIRY_FAILED,      /* errno */
};

/* Is the RUNNER of that entry a living ancestor, as far as can be seen from here? Out of a pid
 * namespace it cannot be, and has to be asked. */
bool
inquiry_runner_is_above(const struct held_entry *entry);

/* Asks, waits for at most limit_ns, wakes a RUNNER that was stopped. interrupt_fd ends the wait
 * when it becomes readable; it is not read; -1: none. An answer is from that very RUNNER, but what
 * it says is not to be printed unescaped. Blocks. */
enum inquiry_result
inquiry_ask(const struct held_entry *entry, enum inquiry_kind kind, int64_t limit_ns,
    int interrupt_fd, struct inquiry_answer *answer);

#endif
