/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Answers: as RESP2 to the client whose command runs, or, in a script, as values on Lua's stack. */
#include <lua5.1/lua.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model_parts.h"

/* -- RESP ------------------------------------------------------------------------------------- */

void
put_header(struct bytes *out, char kind, int64_t number)
{
	bytes_reserve(out, 32);
	out->at[out->used++] = kind;
	out->used += write_integer(out->at + out->used, number);
	out->at[out->used++] = '\r';
	out->at[out->used++] = '\n';
}

void
put_bulk(struct bytes *out, const char *at, size_t length)
{
	put_header(out, '$', (int64_t)length);
	bytes_append(out, at, length);
	bytes_append(out, "\r\n", 2);
}

/* -- Lua -------------------------------------------------------------------------------------- */

/* The value on top of the stack is complete: it goes into the array that is being filled, which may
 * be complete then, too. */
static void
close_item(struct model *model)
{
	while (model->frame_count > 0) {
		struct frame *frame = &model->frames[model->frame_count - 1];
		lua_rawseti(model->lua, -2, ++frame->next);
		if (--frame->left > 0)
			return;
		model->frame_count--;
	}
}

static void
push_table(struct model *model, const char *field, const char *text)
{
	lua_createtable(model->lua, 0, 1);
	lua_pushstring(model->lua, text);
	lua_setfield(model->lua, -2, field);
	close_item(model);
}

/* -- both ------------------------------------------------------------------------------------- */

void
answer_status(struct model *model, const char *text)
{
	if (model->lua != NULL) {
		push_table(model, "ok", text);
		return;
	}
	struct bytes *out = model_out(model->current);
	bytes_append(out, "+", 1);
	bytes_append(out, text, strlen(text));
	bytes_append(out, "\r\n", 2);
}

void
answer_ok(struct model *model)
{
	answer_status(model, "OK");
}

void
answer_error(struct model *model, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length >= (int)sizeof text)
		length = sizeof text - 1;
	/* An error is one line. */
	while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		text[--length] = '\0';
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	model->failed = true;
	if (model->lua != NULL) {
		push_table(model, "err", text);
		return;
	}
	struct bytes *out = model_out(model->current);
	bytes_append(out, "-", 1);
	bytes_append(out, text, (size_t)length);
	bytes_append(out, "\r\n", 2);
}

void
answer_integer(struct model *model, int64_t number)
{
	if (model->lua == NULL) {
		put_header(model_out(model->current), ':', number);
		return;
	}
	lua_pushnumber(model->lua, (lua_Number)number);
	close_item(model);
}

void
answer_text(struct model *model, const char *at, size_t length)
{
	if (model->lua == NULL) {
		put_bulk(model_out(model->current), at, length);
		return;
	}
	lua_pushlstring(model->lua, at, length);
	close_item(model);
}

void
answer_words(struct model *model, const char *text)
{
	answer_text(model, text, strlen(text));
}

void
answer_double(struct model *model, double number)
{
	char text[40];
	answer_text(model, text, write_double(text, number));
}

void
answer_nil(struct model *model)
{
	if (model->lua == NULL) {
		bytes_append(model_out(model->current), "$-1\r\n", 5);
		return;
	}
	lua_pushboolean(model->lua, 0);
	close_item(model);
}

void
answer_array(struct model *model, size_t count)
{
	if (model->lua == NULL) {
		put_header(model_out(model->current), '*', (int64_t)count);
		return;
	}
	lua_createtable(model->lua, (int)count, 0);
	if (count == 0)
		close_item(model);
	else
		model->frames[model->frame_count++] = (struct frame){.left = count};
}
