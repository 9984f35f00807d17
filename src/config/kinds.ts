import { type TInteger, type TLiteral, type TUnion, Type } from 'typebox';

export const KiB = 2 ** 10;
export const MiB = 2 ** 20;
export const auto = (
  minimum: number,
  maximum: number,
  description: string,
): TUnion<[TLiteral<'auto'>, TInteger]> =>
  Type.Union([Type.Literal('auto'), Type.Integer({ minimum, maximum })], {
    default: 'auto',
    description,
  });
export const integer = (
  minimum: number,
  maximum: number,
  value: number,
  description: string,
): ReturnType<typeof Type.Integer> =>
  Type.Integer({ minimum, maximum, default: value, description });
