/** The limits of one listing of the companies of a PSA. @see docs/reference/provisioning.md#psa */
export const PSA_LIMITS = {
  /** New companies of one preview. */
  companies: 1_000,
  /** Companies that one listing may read, new or linked; a provider with smaller pages may send more of them. */
  listed: 4_000,
  /** Time of the whole listing, waiting included. */
  listingMs: 60_000,
  /** Time of a connection test. */
  testMs: 20_000,
  /** Time of one request. */
  requestMs: 20_000,
  /** Size of one response. */
  responseBytes: 10 * 1024 * 1024,
  /** Rows of one page; a larger page is refused. */
  pageRows: 2_000,
  /** Repetitions of a request after a status 5xx or a lost connection; after 429 there are more, as long as there is time. */
  retries: 2,
  /** The first wait before a request is repeated; it doubles, up to the longest, and varies by half. */
  firstWaitMs: 500,
  longestWaitMs: 8_000,
};

/** The limits of one run of a scheduled sync, which has more time: no request waits for it. */
export const PSA_SYNC_LIMITS = {
  /** New companies of one run, at most the rows of an import; the next run soon goes on. */
  companies: 1_000,
  listed: 20_000,
  listingMs: 300_000,
};
