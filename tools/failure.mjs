/** A problem the person at the keyboard can act on: printed as text, without a stack. */
export class Failure extends Error {
  name = 'Failure';
}
