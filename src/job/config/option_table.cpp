#include "job/config/compute_options.hpp"

namespace bulksim {

CommandSyntax compute_syntax() {
  using enum OptionKind;
  return {
      .name = "compute",
      .usage = "ITEMS [QUERIES] -o OUT",
      .summary =
          "Computes the cosine (or the dot product) of every query with every item (without "
          "QUERIES: of every\n"
          "item with every item) and publishes the full matrix, or the pairs that are\n"
          "wanted, under OUT: a folder of versions, or one ordinary file when OUT ends in\n"
          ".h5 (pairs also: .npz for scipy.sparse.load_npz, .tsv).",
      .positionals = {"items", "queries"},
      .options = {
          {"items", 0, "", "sparse item rows: .csr, .npz, .jsonl, .jsonl.gz, or an imported .h5"},
          {"queries", 0, "", "sparse query rows, in any of these formats"},
          {"output", 'o', "", "folder of versions, or one file NAME.h5 (pairs: .npz, .tsv)"},
          {"metric", 0, "cosine", "cosine or dot (sums of products; of integers exact)"},
          {"dtype", 0, "float32",
           "of the full matrix: float32 or float16 (adds an error of 2.4e-4)"},
          {"threshold", 't', "", "only pairs with at least this score"},
          {"below", 0, "", "only pairs with less than this score"},
          {"nonzero", 0, "", "only pairs with a score other than 0", kFlag},
          {"top-k", 'k', "", "the k best items of each query"},
          {"sample-per-query", 0, "", "so many items of each query, drawn at random"},
          {"seed", 0, "1", "of the sample"},
          {"pairs", 0, "", "of equal sides: upper (i < j, each once) or both"},
          {"include-self", 0, "", "of equal sides: pairs of a row with itself too", kFlag},
          {"queries-range", 0, "", "only these rows of the queries, A:B (from A, before B)"},
          {"items-range", 0, "", "only these rows of the items, A:B"},
          {"mode", 0, "full", "full, or blocks: the block sums alone, without the matrix"},
          {"block-sums", 0, "auto",
           "where the mass of the softmax lies: auto (with a matrix, not with pairs), on or off"},
          {"softmax-scale", 0, "20", "of the block sums: exp(scale x cosine)"},
          {"select-mass", 0, "", "compute the tiles of blocks that hold this part of all mass"},
          {"select-share", 0, "", "or of blocks with this part of the mass of their queries"},
          {"stride", 0, "8", "rows of a group of the estimate that they are selected by"},
          {"item-ids", 0, "", "names of the items, one a line; without it those of the source"},
          {"query-ids", 0, "", "names of the queries, one a line"},
          {"vocab", 0, "", "terms of the columns, one a line, for both sides"},
          {"keys", 0, "terms", "keys of JSONL vectors: terms or index (numbers of columns)"},
          {"zero-rows", 0, "zero", "rows without values: zero (cosine 0), nan or error"},
          {"strict", 0, "",
           "refuse rows that are unsorted or without values, duplicates and explicit zeros", kFlag},
          {"pad-dims", 0, "", "let queries and items differ in their number of columns", kFlag},
          {"backend", 0, "auto",
           "what computes: cpu, cuda, or auto (the GPUs where there are any)"},
          {"threads", 'j', "", "threads of a rank; without it: the cores it may use"},
          {"memory", 0, "", "bytes a rank may use (K, M, G, T); without it: 70 % of what is free"},
          {"max-output", 0, "", "most bytes to write; without it: half of the free space"},
          {"max-hours", 0, "", "stop in time to end within this many hours, with exit code 75"},
          {"tile", 0, "", "tile of the output, QxI; part of the plan"},
          {"parts", 0, "", "number of part files; part of the plan"},
          {"chunk", 'c', "", "item rows in flight, rounded up to whole tiles"},
          {"recompute", 0, "", "make a new version though the same result is published", kFlag},
          {"durability", 0, "on", "off: no syncs, no lease, no journal; a stop loses the run"},
          {"verify", 0, "sample", "tiles read again before publishing: none, sample or full"},
          {"guard", 0, "", "do not publish what differs too much from the version before", kFlag},
          {"accept-change", 0, "", "publish it all the same", kFlag},
          {"keep", 0, "3", "versions to keep, the current one always"},
          {"keep-days", 0, "7", "days after which unfinished work of other plans is removed"},
          {"commit-bytes", 0, "1G", "finished tiles are made durable each so many bytes a rank"},
          {"commit-seconds", 0, "30", "or after so many seconds"},
          {"metrics-file", 0, "", "a second place for the metrics of the run"},
          {"deadlines", 0, "init=180,read=300,tile=120,write=300,collective=120",
           "seconds after which a step counts as stuck and the run ends with 69"},
          {"core", 0, "", "allow core dumps, which hold parts of the embeddings", kFlag},
          {"config", 0, "", "file of lines 'option = value'; the command line wins"},
          {"print-config", 0, "", "print the effective options and stop", kFlag},
          {"log-format", 0, "human", "human or json, one object a line"},
          {"quiet", 'q', "", "warnings and errors only", kFlag},
          {"verbose", 'v', "", "more about plan and phases", kFlag},
          {"help", 'h', "", "this text", kFlag},
      }};
}

}  // namespace bulksim
