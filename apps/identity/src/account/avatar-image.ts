import { PayloadTooLargeError, UnsupportedMediaTypeError } from '@rmm/service-kit';

export const AVATAR_MIME = 'image/webp';

const SIDE = 512;
/** More than a photo of 5 MB has; a decoded one takes four bytes per pixel. */
const MAX_PIXELS = 40_000_000;
const MAX_SECONDS = 5;
const LOADERS = ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'];

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

/** Returns true for PNG, JPEG and WebP, by the first bytes. */
export function isSupportedImage(bytes: Buffer): boolean {
  const startsWith = (magic: Buffer) => bytes.subarray(0, magic.length).equals(magic);
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return startsWith(PNG) || startsWith(JPEG) || isWebp;
}

/**
 * Decodes a picture and encodes it again, so that nothing but its pixels remains.
 * @returns WebP of at most 512 x 512, upright, without metadata
 * @throws UnsupportedMediaTypeError for a damaged file; PayloadTooLargeError for too many pixels
 */
export async function convertToAvatar(bytes: Buffer): Promise<Buffer> {
  const sharp = await (library ??= loadLibrary());
  try {
    const { width, height } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (width * height > MAX_PIXELS) throw new PayloadTooLargeError();
    return await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', sequentialRead: true })
      .timeout({ seconds: MAX_SECONDS })
      .autoOrient()
      .resize(SIDE, SIDE, { fit: 'inside', withoutEnlargement: true })
      .webp({ quality: 85 })
      .toBuffer();
  } catch (cause) {
    if (cause instanceof PayloadTooLargeError) throw cause;
    throw new UnsupportedMediaTypeError(undefined, { cause });
  }
}

let library: ReturnType<typeof loadLibrary> | undefined;

/** Loads sharp with the first upload, because it takes a while. Allows only the three supported formats. */
async function loadLibrary() {
  const { default: sharp } = await import('sharp');
  sharp.cache(false);
  sharp.concurrency(1);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS });
  return sharp;
}
