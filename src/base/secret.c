/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/secret.h"

#include <string.h>
#include <sys/mman.h>

void *
secret_open_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	madvise(pages, size, MADV_DONTDUMP);
	return pages;
}

static void
kept_ask(struct secret_source *source)
{
	source->told(source->context, ((struct kept_secret *)source)->text, NULL);
}

/* It is needed again. */
static void
kept_cancel(struct secret_source *source)
{
	(void)source;
}

static void
kept_forget(struct secret_source *source)
{
	explicit_bzero(((struct kept_secret *)source)->text, SECRET_MAX);
}

int
secret_keep(struct kept_secret *kept, const char *text, const char *origin)
{
	static const struct secret_operations operations = {
	    .ask = kept_ask,
	    .cancel = kept_cancel,
	    .forget = kept_forget,
	};
	*kept = (struct kept_secret){
	    .source = {.operations = &operations, .origin = origin},
	    .text = secret_open_pages(SECRET_MAX + 1),
	};
	if (kept->text == NULL)
		return -1;
	memcpy(kept->text, text, strnlen(text, SECRET_MAX));
	return 0;
}
