import type { Forms } from "./intl.ts";

type FormName =
  | "step"
  | "ofSteps"
  | "time"
  | "day"
  | "value"
  | "character"
  | "change"
  | "needsDecision"
  | "needsYou"
  | "grant"
  | "attention"
  | "earlierLine"
  | "hidden";

/** What is counted, in the six plurals of Arabic; where the case changes the word, once for each. */
export const forms: Readonly<Record<FormName, Forms>> = {
  step: { zero: "لا خطوات", one: "خطوة واحدة", two: "خطوتان", few: "# خطوات", many: "# خطوة", other: "# خطوة" },
  ofSteps: { zero: "لا خطوات", one: "خطوة واحدة", two: "خطوتين", few: "# خطوات", many: "# خطوة", other: "# خطوة" },
  time: { zero: "ولا مرة", one: "مرة واحدة", two: "مرتين", few: "# مرات", many: "# مرة", other: "# مرة" },
  day: { zero: "لا أيام", one: "يوم واحد", two: "يومان", few: "# أيام", many: "# يومًا", other: "# يوم" },
  value: { zero: "لا قيم", one: "قيمة واحدة", two: "قيمتين", few: "# قيم", many: "# قيمة", other: "# قيمة" },
  character: { zero: "لا أحرف", one: "حرف واحد", two: "حرفين", few: "# أحرف", many: "# حرفًا", other: "# حرف" },
  change: {
    zero: "بلا تغييرات",
    one: "مع تغيير واحد",
    two: "مع تغييرين",
    few: "مع # تغييرات",
    many: "مع # تغييرًا",
    other: "مع # تغيير",
  },
  needsDecision: {
    zero: "لا خطوات تنتظر قرارك",
    one: "خطوة واحدة تنتظر قرارك",
    two: "خطوتان تنتظران قرارك",
    few: "# خطوات تنتظر قرارك",
    many: "# خطوة تنتظر قرارك",
    other: "# خطوة تنتظر قرارك",
  },
  needsYou: {
    zero: "لا خطوات بانتظارك",
    one: "خطوة واحدة بانتظارك",
    two: "خطوتان بانتظارك",
    few: "# خطوات بانتظارك",
    many: "# خطوة بانتظارك",
    other: "# خطوة بانتظارك",
  },
  grant: {
    zero: "لا قرارات محفوظة",
    one: "قرار محفوظ واحد",
    two: "قراران محفوظان",
    few: "# قرارات محفوظة",
    many: "# قرارًا محفوظًا",
    other: "# قرار محفوظ",
  },
  attention: {
    zero: "لا حقول تحتاج إلى انتباه",
    one: "حقل واحد يحتاج إلى انتباه",
    two: "حقلان يحتاجان إلى انتباه",
    few: "# حقول تحتاج إلى انتباه",
    many: "# حقلًا يحتاج إلى انتباه",
    other: "# حقل يحتاج إلى انتباه",
  },
  earlierLine: {
    zero: "لا أسطر سابقة",
    one: "سطر سابق واحد",
    two: "سطران سابقان",
    few: "# أسطر سابقة",
    many: "# سطرًا سابقًا",
    other: "# سطر سابق",
  },
  hidden: {
    zero: "بلا أحرف مخفية",
    one: "يحتوي على حرف مخفي واحد",
    two: "يحتوي على حرفين مخفيين",
    few: "يحتوي على # أحرف مخفية",
    many: "يحتوي على # حرفًا مخفيًا",
    other: "يحتوي على # حرف مخفي",
  },
};
