-- Reading of markdown, shared by the HTML and the Typst writers, so that both number alike.
local common = {}

local FORMAT = "markdown-raw_html-raw_tex-raw_attribute-native_divs-native_spans-markdown_in_html_blocks"
  .. "-citations-footnotes-inline_notes-example_lists-implicit_figures-yaml_metadata_block-pandoc_title_block"
  .. "-latex_macros-bracketed_spans-fenced_divs-table_captions"

local function safe_target(target, own)
  if own and target:match("^[%w-]+%.html") or own and target:match("^schemas/[%w.-]+$") then return true end
  local scheme = target:match("^%s*([%w+.-]+):")
  return target:sub(1, 1) == "#" or (scheme and ({ http = true, https = true, mailto = true })[scheme:lower()])
end

-- "see @tbl-a." -> "see ", Link, "."
local function with_references(text, names)
  local out, at = pandoc.Inlines {}, 1
  while true do
    local start, _, word = text:find("@([%w_-]+)", at)
    if not start then break end
    while word ~= "" and not names[word] do word = word:sub(1, -2) end
    local before = start > 1 and text:sub(start - 1, start - 1) or ""
    local rest = text:sub(start + 1 + #word, start + 1 + #word)
    if word ~= "" and not before:match("[%w_]") and not rest:match("[%w_]") then
      if start > at then out:insert(pandoc.Str(text:sub(at, start - 1))) end
      local name = names[word]:gsub(" ", "\u{a0}")
      out:insert(pandoc.Link(pandoc.Inlines { pandoc.Str(name) }, "#" .. word))
      at = start + 1 + #word
    else
      if start >= at then out:insert(pandoc.Str(text:sub(at, start))) end
      at = start + 1
    end
  end
  if at <= #text then out:insert(pandoc.Str(text:sub(at))) end
  return out
end

local function slug(text, taken)
  local base = "sec-" .. text:lower():gsub("[^%w]+", "-"):gsub("^%-+", ""):gsub("%-+$", "")
  local id, n = base, 1
  while taken[id] do
    n = n + 1
    id = base .. "-" .. n
  end
  taken[id] = true
  return id
end

function common.input()
  return pandoc.json.decode(io.read("a"), false)
end

-- A reader that remembers the section numbers from one cell to the next; `own` text may link to pages beside it.
function common.reader(names, own)
  local count, taken, toc, last = { 0, 0, 0 }, {}, {}, 1

  local function number(level)
    count[level] = count[level] + 1
    for deeper = level + 1, 3 do count[deeper] = 0 end
    return table.concat(count, ".", 1, level)
  end

  local function header(h)
    local unnumbered = h.classes:includes("unnumbered")
    h.level = math.min(math.max(h.level, 2), last + 1) -- one h1, no level left out
    last = h.level
    local title = pandoc.utils.stringify(h.content)
    h.attr = pandoc.Attr(slug(title, taken))
    if h.level <= 4 and not unnumbered then h.attributes.number = number(h.level - 1) end
    if h.level <= 3 then
      table.insert(toc, { level = h.level, id = h.identifier, number = h.attributes.number or "", title = title })
    end
    return h
  end

  local function read(text, kind)
    local format = (kind == "sentence" or own) and FORMAT .. "-smart" or FORMAT
    local doc = pandoc.read(text, format)
    doc = doc:walk {
      Image = function(image) return image.caption end,
      Link = function(link)
        if not safe_target(link.target, own) then return link.content end
        link.attr = pandoc.Attr("", {}, not link.target:match("^%s*[%w+.-]+:") and {} or { rel = "noopener noreferrer" })
        return link
      end,
      Code = function(code) return pandoc.Code(code.text) end,
      CodeBlock = function(code) return pandoc.CodeBlock(code.text) end,
    }
    if kind == "prose" then
      doc = doc:walk { Str = function(str)
        if str.text:find("@", 1, true) then return with_references(str.text, names) end
      end }
      doc = doc:walk { Header = header }
    end
    return doc.blocks
  end

  return read, toc
end

return common
