/** The body of a paged list. @see docs/reference/requests.md */
export interface Page<T> {
  data: T[];
  pagination: { page: number; limit: number; total: number };
}
