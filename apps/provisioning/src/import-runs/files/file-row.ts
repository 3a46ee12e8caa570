/** A row of a file as text; blank cells are empty. */
export interface FileRow {
  /** The line or row number in the file, from 1. */
  line: number;
  cells: string[];
}
