import type { XmlEvent } from './read-xml.js';

/** Collects the text of all runs of an element, without their formats and their phonetic readings (`rPh`). */
export class RichText {
  private collected = '';
  private isText = false;
  private isPhonetic = false;

  /** @param maxCharacters  the rest is left out */
  constructor(private readonly maxCharacters = Number.POSITIVE_INFINITY) {}

  get text(): string {
    return this.collected;
  }

  add(event: XmlEvent): void {
    if (event.type === 'text') {
      if (this.isText) this.collected = (this.collected + event.text).slice(0, this.maxCharacters);
    } else if (event.name === 'rPh') this.isPhonetic = event.type === 'start';
    else if (event.name === 't') this.isText = event.type === 'start' && !this.isPhonetic;
  }
}
