/** A sealed value cannot be opened: it was changed, belongs to another context, or its key is not in the ring. */
export class UnsealFailed extends Error {
  override readonly name = 'UnsealFailed';
}
