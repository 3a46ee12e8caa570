import { ApiProperty } from '@nestjs/swagger';
import { EVENT_GROUPS } from '@rmm/contracts';

export class EventTypeDto {
  @ApiProperty()
  type!: string;
  @ApiProperty({ enum: Object.keys(EVENT_GROUPS) })
  group!: string;
  @ApiProperty()
  description!: string;
}

/** Fixed, not paginated. */
export class EventCatalogDto {
  @ApiProperty({ type: [EventTypeDto] })
  data!: readonly EventTypeDto[];
  @ApiProperty({ type: [String] })
  wildcards!: readonly string[];
}
