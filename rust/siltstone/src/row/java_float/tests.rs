//! What Java 17 writes.

use super::{double_text, float_text};

/// Powers, subnormals, whole numbers, halves, and values whose digits depend on the word that Java divides in.
const DOUBLES: &[(u64, &str)] = &[
    (0x3fb9_9999_9999_999a, "0.1"),
    (0x3f50_624d_d2f1_a9fc, "0.001"),
    (0x3f60_624d_d2f1_a9fc, "0.002"),
    (0x3f50_61e2_7327_3f09, "9.999E-4"),
    (0x4163_12d0_0000_0000, "1.0E7"),
    (0x4163_12cf_f000_0000, "9999999.5"),
    (0x419d_6f34_5400_0000, "1.23456789E8"),
    (0x444b_1ae4_d6e2_ef50, "1.0E21"),
    (0x4480_f0cf_064d_d592, "1.0E22"),
    (0x44b5_2d02_c7e1_4af6, "9.999999999999999E22"),
    (0x44c5_2d02_c7e1_4af6, "1.9999999999999998E23"),
    (0x36dc_8b82_1885_4567, "2.0E-44"),
    (0x0000_0000_0000_0001, "4.9E-324"),
    (0x0000_0000_0000_0002, "1.0E-323"),
    (0x0010_0000_0000_0000, "2.2250738585072014E-308"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157E308"),
    (0x3d30_0000_0000_0000, "5.6843418860808015E-14"),
    (0x4532_32ae_63c5_9c6c, "2.2E25"),
    (0x4537_293b_0a9e_69fe, "2.8E25"),
    (0x43e0_0000_0000_0000, "9.223372036854776E18"),
    (0x43d0_0000_0000_0000, "4.6116860184273879E18"),
    (0x4340_0000_0000_0000, "9.007199254740992E15"),
    (0x3fd5_5555_5555_5555, "0.3333333333333333"),
    (0xc531_0ed4_7000_0001, "-2.0621770844403033E25"),
    (0x7e37_e43c_8800_759c, "1.0E300"),
    (0x3ee7_1194_7cfa_26a2, "1.1E-5"),
    (0x0000_0000_0000_0003, "1.5E-323"),
    (0x3fd3_3333_3333_3333, "0.3"),
    (0x4059_0000_0000_0000, "100.0"),
    (0x447c_7e83_209e_90b2, "8.409999999999999E21"),
    (0x4160_0000_1000_0000, "8388608.5"),
    (0x4341_c379_37e0_8000, "1.0E16"),
    (0x4011_6666_6666_6666, "4.35"),
    (0x000f_ffff_ffff_ffff, "2.225073858507201E-308"),
    (0x4009_21fb_5444_2d18, "3.141592653589793"),
    (0x3ee4_f8b5_88e3_68f1, "1.0E-5"),
];

const FLOATS: &[(u32, &str)] = &[
    (0x3dcc_cccd, "0.1"),
    (0xc579_4080, "-3988.0312"),
    (0x3f00_0000, "0.5"),
    (0x0000_0001, "1.4E-45"),
    (0x0000_0002, "2.8E-45"),
    (0x0080_0000, "1.17549435E-38"),
    (0x7f7f_ffff, "3.4028235E38"),
    (0x4b80_0000, "1.6777216E7"),
    (0x4c00_0000, "3.3554432E7"),
    (0x5015_02f9, "1.0E10"),
    (0xd024_6cca, "-1.10343721E10"),
    (0x6a04_5952, "4.0000002E25"),
    (0x6900_0000, "9.6714065E24"),
    (0x4f95_02f9, "5.0E9"),
    (0x3a90_2de0, "0.0011"),
    (0x38d1_b717, "1.0E-4"),
    (0x380e_9b39, "3.4E-5"),
    (0x5f00_0000, "9.223372E18"),
    (0x60ad_78ec, "1.0E20"),
    (0x4e4a_a7e2, "8.5E8"),
    (0x47f1_205a, "123456.7"),
    (0x3b03_126f, "0.002"),
    (0x2edb_e6ff, "1.0E-10"),
    (0x6a0e_466b, "4.3E25"),
    (0x6a40_0001, "5.8028443E25"),
];

/// They had the fewest digits that read back as the value: neither could read the partitions of the other.
#[test]
fn numbers_have_the_digits_of_java_17() {
    for (bits, expected) in DOUBLES {
        let value = f64::from_bits(*bits);
        assert_eq!(double_text(value), *expected);
        assert_eq!(double_text(value).parse(), Ok(value));
        assert_eq!(double_text(-value).trim_start_matches('-'), expected.trim_start_matches('-'));
    }
    for (bits, expected) in FLOATS {
        let value = f32::from_bits(*bits);
        assert_eq!(float_text(value), *expected);
        assert_eq!(float_text(value).parse(), Ok(value));
    }
}

#[test]
fn values_that_are_no_numbers_have_the_names_of_java() {
    let texts = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0].map(double_text);
    assert_eq!(texts, ["NaN", "Infinity", "-Infinity", "0.0", "-0.0"]);
    let texts = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0].map(float_text);
    assert_eq!(texts, ["NaN", "Infinity", "-Infinity", "0.0", "-0.0"]);
}

proptest::proptest! {
    #[test]
    fn the_text_of_every_number_reads_back_as_it(bits: u64, narrow: u32) {
        let (wide, narrow) = (f64::from_bits(bits), f32::from_bits(narrow));
        if wide.is_finite() {
            proptest::prop_assert_eq!(double_text(wide).parse(), Ok(wide));
        }
        if narrow.is_finite() {
            proptest::prop_assert_eq!(float_text(narrow).parse(), Ok(narrow));
        }
    }
}
