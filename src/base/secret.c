/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/secret.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES (SECRET_MAX + 1)

char *
secret_open_page(void)
{
	char *page =
	    mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	madvise(page, PAGE_BYTES, MADV_DONTDUMP);
	return page;
}

void
secret_wipe_page(char *page)
{
	if (page != NULL)
		explicit_bzero(page, PAGE_BYTES);
}

static void
kept_ask(struct secret_source *source)
{
	source->told(source->context, ((struct kept_secret *)source)->page, NULL);
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
	secret_wipe_page(((struct kept_secret *)source)->page);
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
	    .page = secret_open_page(),
	};
	if (kept->page == NULL)
		return -1;
	memcpy(kept->page, text, strnlen(text, SECRET_MAX));
	return 0;
}
