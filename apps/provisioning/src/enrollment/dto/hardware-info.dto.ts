import { fieldOf, IsInteger, IsName, OpenDocument } from '@rmm/validation';

const MODEL = { optional: true, nullable: true } as const;
const COUNT = { optional: true, nullable: true, max: 1_000_000_000 } as const;

/** Accepts fractions, as agents report gigabytes. */
const IsQuantity = (): PropertyDecorator =>
  fieldOf({
    ...MODEL,
    name: 'isQuantity',
    check: (value) => typeof value === 'number' && value >= 0 && value <= 1e12,
    text: 'must be a number of at least 0',
    api: { type: Number, minimum: 0 },
  });

/** The hardware that an agent reports; unknown fields are ignored. */
@OpenDocument()
export class HardwareInfoDto {
  @IsName(MODEL)
  cpuModel?: string | null;

  @IsInteger(COUNT)
  cpuCores?: number | null;

  @IsInteger(COUNT)
  cpuThreads?: number | null;

  @IsQuantity()
  ramTotalMb?: number | null;

  @IsQuantity()
  diskTotalGb?: number | null;

  @IsName(MODEL)
  gpuModel?: string | null;

  @IsName(MODEL)
  serialNumber?: string | null;

  @IsName(MODEL)
  manufacturer?: string | null;

  @IsName(MODEL)
  model?: string | null;

  @IsName(MODEL)
  motherboardManufacturer?: string | null;

  @IsName(MODEL)
  motherboardProduct?: string | null;

  @IsName(MODEL)
  motherboardVersion?: string | null;

  @IsName(MODEL)
  biosVersion?: string | null;
}
