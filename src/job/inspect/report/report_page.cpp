#include "job/inspect/report/report_page.hpp"

namespace bulksim {

namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#ffffff;--ink:#1d2129;--soft:#5d6673;
--line:#e3e1da;--accent:#17939f;--outline:#ff5a3c;--halo:#ffffffb0}
@media(prefers-color-scheme:dark){:root{--paper:#12151b;--card:#1a1f27;--ink:#e8eaee;
--soft:#9aa4b2;--line:#2b323d;--accent:#4bbf8b;--outline:#ff7a5c;--halo:#00000080}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1040px;margin:0 auto;padding:48px 24px 72px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:19px;margin:40px 0 12px}
p{margin:0 0 12px;max-width:72ch}.lead,.note{color:var(--soft)}.note{font-size:14px}
code{font:13px/1.4 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:26px 0 0}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.tiles b{display:block;font-size:22px;line-height:1.25;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:13px}
figure{margin:0 0 18px;background:var(--card);border:1px solid var(--line);border-radius:12px;
padding:18px 14px 10px}
figcaption{color:var(--soft);font-size:14px;padding:0 6px 6px}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft);
font-variant-numeric:tabular-nums}
svg .name{fill:var(--ink);font-size:13px}.tick{stroke:var(--soft);fill:none}
.cells{image-rendering:pixelated}
.outline{fill:none;stroke:var(--outline);stroke-width:1.4;vector-effect:non-scaling-stroke}
.halo{fill:none;stroke:var(--halo);stroke-width:3.2;vector-effect:non-scaling-stroke}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:12px}
th,td{text-align:right;padding:7px 14px;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:500}tr:last-child td{border-bottom:0}
td.bar{width:26%}td.bar i{display:block;height:9px;border-radius:5px;background:var(--accent)}
.info td,.info th{text-align:left;white-space:normal;vertical-align:top}.info th{width:30%}
@media print{body{background:#fff}main{padding:0}figure,.scroll,.tiles div{break-inside:avoid}}
)";

}  // namespace

std::string ReportPage::to_html() const {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
      title + "</title>\n<style>" + kStyle + "</style>\n<main>\n<h1>" + title +
      "</h1>\n<p class=\"lead\">" + lead + "</p>\n<div class=\"tiles\">\n";
  for (const auto& [value, meaning] : tiles)
    html += "<div><b>" + value + "</b><span>" + meaning + "</span></div>\n";
  html += "</div>\n";
  for (const Section& section : sections)
    html += "<h2>" + section.title + "</h2>\n" + section.body + "\n";
  return html + "</main>\n</html>\n";
}

std::string escaped(const std::string& text) {
  std::string html;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

}  // namespace bulksim
