/* report_html.c - see report_page.h: how the page is written and what it looks like. */
#include "emit/report_page.h"
#include "emit/seal.h"
#include "util/unicode.h"

#include <stdio.h>
#include <string.h>

/* Colours are variables, so that a dark screen changes them alone; a printer gets the light ones. */
static const char style[] =
    ":root{color-scheme:light dark;--bg:#fbfbfa;--panel:#fff;--ink:#1b1d21;--soft:#565b63;--line:#dbdcd8;"
    "--faint:#eeeeea;--mark:#2a5aa8;--on:#fff;--c0:#4470b0;--c1:#bf6526;--c2:#2d8560;--c3:#8f4fa0;"
    "--c4:#94780f;--c5:#22828f;--c6:#b8475e;--c7:#6b7078}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--bg:#141518;--panel:#1b1d21;--ink:#e6e6e3;"
    "--soft:#a2a7b0;--line:#363940;--faint:#24272c;--mark:#8db3ee;--on:#10131a;--c0:#86aee8;--c1:#e5a066;"
    "--c2:#6cc49c;--c3:#c99ad8;--c4:#d3b95c;--c5:#69c3cf;--c6:#ee90a2;--c7:#a5abb5}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',"
    "'Helvetica Neue',Arial,sans-serif;-webkit-text-size-adjust:100%}\n"
    "main{max-width:1120px;margin:0 auto;padding:28px 24px 64px}\n"
    "h1{font-size:27px;line-height:1.2;margin:0 0 6px;letter-spacing:-.015em;overflow-wrap:anywhere}\n"
    "h2{font-size:19px;line-height:1.3;margin:44px 0 4px;padding-top:14px;border-top:1px solid var(--line);"
    "letter-spacing:-.01em}\n"
    "h3{font-size:15px;margin:26px 0 4px}\n"
    "h4{font-size:13px;margin:20px 0 6px;color:var(--soft);font-weight:600}\n"
    "p{margin:4px 0 12px;max-width:74ch;overflow-wrap:anywhere}\n"
    ".soft,caption,figcaption{color:var(--soft);font-size:13px}\n"
    "nav{display:flex;flex-wrap:wrap;gap:2px 18px;margin:14px 0 0;font-size:14px}\n"
    "a{color:var(--mark);text-underline-offset:3px;text-decoration-thickness:1px}\n"
    "code,.n{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans "
    "Mono',monospace;font-size:.92em;"
    "overflow-wrap:anywhere}\n"
    "dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:0 24px;margin:12px "
    "0 8px}\n"
    "dl.facts div{border-top:1px solid var(--line);padding:6px 0 8px;min-width:0}\n"
    "dl.facts div.broad{grid-column:1/-1;display:grid;grid-template-columns:28px 1fr}\n"
    "dt{color:var(--soft);font-size:12.5px}\n"
    "dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}\n"
    ".scroll{overflow-x:auto;margin:10px 0 6px;-webkit-overflow-scrolling:touch}\n"
    ".scroll:focus-visible,a:focus-visible,summary:focus-visible{outline:2px solid "
    "var(--mark);outline-offset:2px}\n"
    ".scroll svg{max-width:none}\n"
    "table{width:max-content;max-width:1072px;border-collapse:collapse;font-size:13px;font-variant-numeric:"
    "tabular-nums;line-height:1.35}\n"
    "caption{text-align:left;padding:0 0 6px;caption-side:top}\n"
    "caption::first-letter{text-transform:uppercase}\n"
    "th,td{text-align:left;padding:4px 14px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "th{font-weight:600;color:var(--soft);font-size:12px;vertical-align:bottom}\n"
    "tbody th{color:var(--ink);font-size:13px;vertical-align:top;font-weight:500}\n"
    "td.r,th.r{text-align:right}\n"
    "td.r,tbody th,.u{white-space:nowrap}td code{overflow-wrap:normal}\n"
    "th:last-child,td:last-child{padding-right:0}\n";
static const char picture_style[] =
    "svg{display:block;max-width:100%;height:auto;overflow:visible}\n"
    "svg text{fill:var(--ink);font:11px system-ui,-apple-system,'Segoe UI',Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "svg text.s{fill:var(--soft)}\n"
    "svg text.o{fill:var(--on)}\n"
    "svg text.e{text-anchor:end}\n"
    "svg text.m{text-anchor:middle}\n"
    ".bg{fill:var(--faint)}.ln{stroke:var(--line);fill:none}.fr{stroke:var(--line);fill:var(--panel)}\n"
    ".ax{stroke:var(--soft);fill:none}.mk{fill:var(--mark)}.sk{stroke:var(--mark);fill:none}\n"
    ".gap{fill:var(--panel);stroke:var(--panel)}.zo{fill:var(--faint);opacity:.9}\n"
    ".c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--"
    "c5)}"
    ".c6{--c:var(--c6)}.c7{--c:var(--c7)}\n"
    ".f{fill:var(--c)}.w{fill:var(--c);fill-opacity:.17;stroke:var(--c);stroke-width:1}\n"
    ".pt{fill:var(--c);stroke:var(--panel);stroke-width:1}.ring{fill:var(--panel);stroke:var(--c);stroke-"
    "width:2}\n"
    ".dot{fill:none;stroke:var(--c0);stroke-linecap:round}\n"
    ".neg{fill:none;stroke:var(--c1);stroke-linecap:square}\n"
    ".tensors{display:grid;grid-template-columns:repeat(auto-fill,minmax(132px,1fr));gap:20px;margin:14px "
    "0}\n"
    ".tensors figure{margin:0;min-width:0}\n"
    "figcaption{font-size:12px;line-height:1.35;margin-bottom:6px}\n"
    "figcaption b{color:var(--ink);font-weight:600}\n"
    "ul.keys{display:flex;flex-wrap:wrap;gap:3px 18px;list-style:none;margin:8px 0;padding:0;font-size:13px;"
    "color:var(--soft)}\n"
    ".key,ul.keys svg{display:inline-block;vertical-align:-1px;margin-right:6px}\n"
    "ul.plain{margin:4px 0 8px;padding-left:18px;font-size:13px}\n"
    "details{margin:10px 0}\n"
    "summary{cursor:pointer;color:var(--mark);font-size:13px}\n"
    ".gauge{margin-top:4px}\n"
    "@media (max-width:640px){main{padding:18px 14px 40px}h1{font-size:22px}h2{margin-top:32px}"
    "dl.facts{grid-template-columns:repeat(auto-fill,minmax(132px,1fr));gap:0 14px}"
    ".tensors{grid-template-columns:repeat(auto-fill,minmax(112px,1fr))}}\n"
    "@media print{table{max-width:100%}td "
    "code{overflow-wrap:anywhere}body{background:#fff;font-size:10pt}main{max-width:none;padding:0}nav,"
    "summary{display:none}"
    "details::details-content{content-visibility:visible;display:block;height:auto}.scroll{overflow:visible}"
    ".scroll svg{max-width:100%}figure,tr,svg{break-inside:avoid}h2,h3,h4{break-after:avoid}"
    "table{font-size:8pt}th,td{padding-right:7px}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "}\n";

void put(struct page *p, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    text_puts(p->out, arena_vprintf(p->arena, format, ap));
    va_end(ap);
}

const char *page_escaped(struct arena *a, const char *s)
{
    struct text t = {.arena = a};
    for (int length = 1; *s; s += length) {
        static const char *const entity[] = {
            ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
        char buffer[UNICODE_STAND_IN];
        const int32_t c = unicode_decode(s, strlen(s), &length);
        const char *shown = c == '\n' || c == '\t' ? NULL : unicode_stand_in(c, buffer);
        if (shown)
            text_puts(&t, page_escaped(a, shown)); /* <U+200B>: characters that are shown */
        else if (c < (int32_t)(sizeof entity / sizeof *entity) && entity[c])
            text_puts(&t, entity[c]);
        else
            text_put(&t, s, (size_t)length);
    }
    return text_string(&t);
}

const char *page_number(struct arena *a, double value)
{
    if (value < 0 || value > 1e15 || (value < 1000 && value != (double)(long long)value))
        return arena_printf(a, "%.4g", value);
    const char *digits = arena_printf(a, "%.0f", value);
    struct text t = {.arena = a};
    for (size_t n = strlen(digits), i = 0; i < n; i++)
        text_printf(&t, i && (n - i) % 3 == 0 ? ",%c" : "%c", digits[i]);
    return text_string(&t);
}

const char *page_percent(struct arena *a, double part, double whole)
{
    const double percent = whole > 0 ? 100 * part / whole : 0;
    return whole > 0 ? arena_printf(a, percent > 0 && percent < 9.95 ? "%.1f %%" : "%.0f %%", percent) : "";
}

const char *page_color(int n)
{
    static const char *const name[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    return name[n % (int)(sizeof name / sizeof *name)];
}

void page_picture(struct page *p, const char *class, double width, double height, const char *title)
{
    put(p, "<svg%s%s%s viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\"><title>%s</title>",
        *class ? " class=\"" : "", class, *class ? "\"" : "", width, height, width, height,
        page_escaped(p->arena, title));
}

void page_scroll(struct page *p, const char *label)
{
    put(p, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n",
        page_escaped(p->arena, label));
}

void page_scroll_end(struct page *p)
{
    put(p, "</div>\n");
}

void page_begin(struct page *p)
{
    const struct spec *s = p->problem->spec;
    put(p,
        "<!-- %s: report.\n     " SEAL_BY " from a spec (" SEAL_TEXT "); edit that, not this. -->\n"
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>%s: report of cgtpgen</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n",
        s->name, page_escaped(p->arena, s->name), style, picture_style);
}

void page_end(struct page *p)
{
    put(p, "</main>\n</body>\n</html>\n");
}
