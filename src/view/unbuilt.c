/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* In place of what view.h offers, until that is there. */
#include "base/message.h"
#include "view/view.h"

__attribute__((weak)) int
view_status(const struct view_settings *settings, char *const *names)
{
	(void)settings;
	(void)names;
	message_error("--status is not in this version of dlock");
	return 64;
}

__attribute__((weak)) int
view_list(const struct view_settings *settings, const char *glob)
{
	(void)settings;
	(void)glob;
	message_error("--list is not in this version of dlock");
	return 64;
}

__attribute__((weak)) int
view_break(const struct view_settings *settings, const char *name, const char *record)
{
	(void)settings;
	(void)name;
	(void)record;
	message_error("--break is not in this version of dlock");
	return 64;
}
