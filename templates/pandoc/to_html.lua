-- {names, pieces: [{kind, body}]} -> {pieces: [html], toc: [{level, id, number, title}]}
local common = dofile(pandoc.path.join { pandoc.path.directory(arg[0]), "common.lua" })
local input = common.input()
local read, toc = common.reader(input.names)

local function numbered(h)
  local n = h.attributes.number
  h.attributes.number = nil
  if n then
    h.content:insert(1, pandoc.Span(pandoc.Inlines { pandoc.Str(n) }, pandoc.Attr("", { "gb-number" })))
    h.content:insert(2, pandoc.Space())
  end
  return h
end

-- The page's policy forbids style attributes: alignment becomes a class.
local function plain_table(t)
  local right = {}
  for i, spec in ipairs(t.colspecs) do
    right[i] = spec[1] == "AlignRight"
    t.colspecs[i] = { "AlignDefault", nil }
  end
  local function rows(list)
    for _, row in ipairs(list) do
      for i, cell in ipairs(row.cells) do
        if right[i] then cell.classes:insert("num") end
        cell.alignment = "AlignDefault"
      end
    end
  end
  rows(t.head.rows)
  for _, body in ipairs(t.bodies) do rows(body.body) end
  t.attr = pandoc.Attr("", { "gb-table" })
  return t
end

local out = {}
for i, piece in ipairs(input.pieces) do
  local blocks = read(piece.body, piece.kind):walk { Header = numbered, Table = plain_table }
  out[i] = pandoc.write(pandoc.Pandoc(blocks), "html", { html_math_method = "mathml", wrap_text = "wrap-none" })
end
if #out == 0 then out = pandoc.List {} end
print(pandoc.json.encode { pieces = out, toc = pandoc.List(toc) })
