import windowsZones from 'cldr-core/supplemental/windowsZones.json' with { type: 'json' };

const { mapTimezones } = windowsZones.supplemental.windowsZones;
/** The territory of the zone that a name has in general; other rows name the zone of one country. */
const GENERAL = '001';

/** The IANA zone of each Windows time zone, from the CLDR table `windowsZones`. */
export const WINDOWS_ZONES: ReadonlyMap<string, string> = new Map(
  mapTimezones
    .filter(({ mapZone }) => mapZone._territory === GENERAL)
    .map(({ mapZone }) => [mapZone._other, mapZone._type]),
);
