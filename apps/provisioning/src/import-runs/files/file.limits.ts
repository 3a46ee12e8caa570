const MEGABYTE = 1024 * 1024;

/** The limits of uploaded files. */
export const FILE_LIMITS = {
  bytes: 25 * MEGABYTE,
  rows: 100_000,
  columns: 255,
  cellCharacters: 10_000,
  /** One row, in a CSV file with its line breaks. */
  recordCharacters: 1_000_000,
  /** All rows together. Many cells of an XLSX file may show one text, which the file has only once. */
  characters: 50_000_000,
  /** Rows of one organization, which are imported in one transaction. */
  rowsPerOrganization: 5_000,
} as const;

/** The limits of the parts of an XLSX file, which is a ZIP archive, once unpacked. */
export const ZIP_LIMITS = {
  entries: 1_000,
  totalBytes: 400 * MEGABYTE,
  /** The table of all texts is read into memory. */
  sharedStringsBytes: 64 * MEGABYTE,
  /** The workbook and its styles are read into memory. */
  settingsBytes: 4 * MEGABYTE,
  /** A text is in memory before the limit of a cell applies. */
  textBytes: MEGABYTE,
  /** Unpacked bytes for each packed one, for parts above a megabyte. */
  ratio: 200,
  ratioFromBytes: MEGABYTE,
} as const;
