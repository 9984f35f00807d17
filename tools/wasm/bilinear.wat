;; The inner loops of a bilinear resize of RGB pictures.
;;
;; For each row of the target, the two rows of the source around it are blended first, sixteen bytes
;; at a time, into i32 at $scratch; then its pixels are blended from neighbours in there, four at a
;; time. Those are written out, since V8 does not inline functions here, and calls would double the
;; time. Weights have 11 bits: a blend of a blend fits 31 bits and is rounded once, at the end.
;;
;; A row is 16 bytes: where the upper and the lower one lie (two i32), the weights of the two (two
;; i16) and four bytes of nothing. A column is 16 bytes: where its left and its right pixel lie in
;; $scratch, the weight of the right one (three i32), and four bytes of nothing.
;;
;; There must be a multiple of four columns. What they write behind a row is overwritten by the next
;; one; behind the last one, and behind the source and $scratch, there must be bytes to spare.
(module
  (import "env" "memory" (memory 1))
  (func (export "resize")
    (param $from i32) (param $rowBytes i32) (param $to i32) (param $width i32)
    (param $columns i32) (param $columnsEnd i32) (param $rows i32) (param $rowsEnd i32)
    (param $scratch i32)
    (local $column i32) (local $out i32) (local $at i32)
    (local $top i32) (local $bottom i32) (local $sums i32)
    (local $weights v128) (local $left v128) (local $above v128) (local $below v128) (local $pairs v128)
    (loop $eachRow
      (local.set $top (i32.add (local.get $from) (i32.load (local.get $rows))))
      (local.set $bottom (i32.add (local.get $from) (i32.load offset=4 (local.get $rows))))
      (local.set $weights (v128.load32_splat offset=8 (local.get $rows)))
      (local.set $at (i32.const 0))
      (local.set $sums (local.get $scratch))
      (loop $eachByte
        (local.set $above (v128.load (i32.add (local.get $top) (local.get $at))))
        (local.set $below (v128.load (i32.add (local.get $bottom) (local.get $at))))
        (local.set $pairs
          (i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23
            (local.get $above) (local.get $below)))
        (v128.store (local.get $sums)
          (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $pairs)) (local.get $weights)))
        (v128.store offset=16 (local.get $sums)
          (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $pairs)) (local.get $weights)))
        (local.set $pairs
          (i8x16.shuffle 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31
            (local.get $above) (local.get $below)))
        (v128.store offset=32 (local.get $sums)
          (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $pairs)) (local.get $weights)))
        (v128.store offset=48 (local.get $sums)
          (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $pairs)) (local.get $weights)))
        (local.set $sums (i32.add (local.get $sums) (i32.const 64)))
        (br_if $eachByte
          (i32.lt_u
            (local.tee $at (i32.add (local.get $at) (i32.const 16)))
            (local.get $rowBytes))))
      (local.set $column (local.get $columns))
      (local.set $out (local.get $to))
      (loop $eachColumn
        (local.set $pairs
          (i8x16.narrow_i16x8_u
            (i16x8.narrow_i32x4_u
              (i32x4.shr_u
                (i32x4.add
                  (i32x4.add
                    (i32x4.shl
                      (local.tee $left
                        (v128.load
                          (i32.add (local.get $scratch) (i32.load (local.get $column)))))
                      (i32.const 11))
                    (i32x4.mul
                      (v128.load32_splat offset=8 (local.get $column))
                      (i32x4.sub
                        (v128.load
                          (i32.add
                            (local.get $scratch) (i32.load offset=4 (local.get $column))))
                        (local.get $left))))
                  (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
                (i32.const 22))
              (i32x4.shr_u
                (i32x4.add
                  (i32x4.add
                    (i32x4.shl
                      (local.tee $left
                        (v128.load
                          (i32.add (local.get $scratch) (i32.load offset=16 (local.get $column)))))
                      (i32.const 11))
                    (i32x4.mul
                      (v128.load32_splat offset=24 (local.get $column))
                      (i32x4.sub
                        (v128.load
                          (i32.add
                            (local.get $scratch) (i32.load offset=20 (local.get $column))))
                        (local.get $left))))
                  (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
                (i32.const 22)))
            (i16x8.narrow_i32x4_u
              (i32x4.shr_u
                (i32x4.add
                  (i32x4.add
                    (i32x4.shl
                      (local.tee $left
                        (v128.load
                          (i32.add (local.get $scratch) (i32.load offset=32 (local.get $column)))))
                      (i32.const 11))
                    (i32x4.mul
                      (v128.load32_splat offset=40 (local.get $column))
                      (i32x4.sub
                        (v128.load
                          (i32.add
                            (local.get $scratch) (i32.load offset=36 (local.get $column))))
                        (local.get $left))))
                  (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
                (i32.const 22))
              (i32x4.shr_u
                (i32x4.add
                  (i32x4.add
                    (i32x4.shl
                      (local.tee $left
                        (v128.load
                          (i32.add (local.get $scratch) (i32.load offset=48 (local.get $column)))))
                      (i32.const 11))
                    (i32x4.mul
                      (v128.load32_splat offset=56 (local.get $column))
                      (i32x4.sub
                        (v128.load
                          (i32.add
                            (local.get $scratch) (i32.load offset=52 (local.get $column))))
                        (local.get $left))))
                  (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
                (i32.const 22)))))
        (v128.store (local.get $out)
          (i8x16.shuffle 0 1 2 4 5 6 8 9 10 12 13 14 0 0 0 0
            (local.get $pairs) (local.get $pairs)))
        (local.set $out (i32.add (local.get $out) (i32.const 12)))
        (br_if $eachColumn
          (i32.lt_u
            (local.tee $column (i32.add (local.get $column) (i32.const 64)))
            (local.get $columnsEnd))))
      (local.set $to (i32.add (local.get $to) (i32.mul (local.get $width) (i32.const 3))))
      (br_if $eachRow
        (i32.lt_u
          (local.tee $rows (i32.add (local.get $rows) (i32.const 16)))
          (local.get $rowsEnd))))))
