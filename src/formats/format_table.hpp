#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "formats/shared/row_stream.hpp"

namespace bulksim {

/// Whether a folder of files of a format is one matrix.
enum class Folders { kRefused, kAreOneMatrix };

/// A format of input matrices: how it is recognized, and how it is opened. Of the two functions one
/// is null: a format is either read by ranges of rows, or streamed and imported into a store.
struct InputFormat {
  std::string_view name;                   ///< "npz"
  std::vector<std::string_view> suffixes;  ///< of the names of its files
  std::string_view description;            ///< a few words for errors
  std::string_view magic = {};             ///< bytes that its files start with, if all do
  Folders folders = Folders::kRefused;
  /// `name` is what errors call the file.
  std::unique_ptr<MatrixSource> (*open_by_ranges)(FileCalls& calls, const std::string& path,
                                                  const std::string& name) = nullptr;
  std::unique_ptr<RowStream> (*open_rows)(FileCalls& calls, const std::string& path,
                                          const RowStreamOptions& options) = nullptr;

  bool is_read_by_ranges() const { return open_by_ranges != nullptr; }
  std::string suffix_text() const;  ///< ".jsonl or .jsonl.gz"
};

/// All formats. A new format is added only here.
std::span<const InputFormat> input_formats();

/// The format of a file by its name, or of a folder by the files in it; null when there is none.
const InputFormat* find_format(FileCalls& calls, const std::string& path);

/// As `find_format`, but throws Error (66) when the path does not exist, and Error (65), with the
/// known formats, when the format is unknown.
const InputFormat& format_of(FileCalls& calls, const std::string& path);

/// ".csr, .h5, .npz, .jsonl, .jsonl.gz": the suffixes of all formats, for help texts.
std::string known_suffixes();

/// Opens a file of any format as a stream of rows; throws as `format_of`.
std::unique_ptr<RowStream> open_rows(FileCalls& calls, const std::string& path,
                                     const RowStreamOptions& options);

}  // namespace bulksim
