;; The inner loops of a bilinear resize of RGB pictures, four products at a time.
;;
;; A column is 32 bytes: where its left and its right pixel lie within a row (two i32, then eight
;; bytes of nothing), and the weights of the two as eight i16, left and right in turn.
;; A row is 16 bytes: where the upper and the lower one lie, and the weights of the two (four i32).
;; Weights have 11 bits, so a sum of four products fits 31 bits and is rounded once.
;;
;; A pixel is read and written as four bytes, of which the last one belongs to its neighbour: both
;; pictures need a byte to spare behind them.
(module
  (import "env" "memory" (memory 1))
  (func (export "resize")
    (param $from i32) (param $to i32) (param $columns i32) (param $width i32)
    (param $rows i32) (param $height i32)
    (local $row i32) (local $column i32) (local $rowsEnd i32) (local $columnsEnd i32)
    (local $top i32) (local $bottom i32) (local $left i32) (local $right i32)
    (local $up v128) (local $down v128) (local $weights v128)
    (local.set $row (local.get $rows))
    (local.set $rowsEnd (i32.add (local.get $rows) (i32.shl (local.get $height) (i32.const 4))))
    (local.set $columnsEnd
      (i32.add (local.get $columns) (i32.shl (local.get $width) (i32.const 5))))
    (loop $eachRow
      (local.set $top (i32.add (local.get $from) (i32.load (local.get $row))))
      (local.set $bottom (i32.add (local.get $from) (i32.load offset=4 (local.get $row))))
      (local.set $up (v128.load32_splat offset=8 (local.get $row)))
      (local.set $down (v128.load32_splat offset=12 (local.get $row)))
      (local.set $column (local.get $columns))
      (loop $eachColumn
        (local.set $left (i32.load (local.get $column)))
        (local.set $right (i32.load offset=4 (local.get $column)))
        (local.set $weights (v128.load offset=16 (local.get $column)))
        (v128.store32_lane 0
          (local.get $to)
          (i8x16.narrow_i16x8_u
            (i16x8.narrow_i32x4_u
              (i32x4.shr_u
                (i32x4.add
                  (i32x4.add
                    (i32x4.mul
                      (local.get $up)
                      (i32x4.dot_i16x8_s
                        (i16x8.extend_low_i8x16_u
                          (i8x16.shuffle 0 16 1 17 2 18 3 19 0 0 0 0 0 0 0 0
                            (v128.load32_zero (i32.add (local.get $top) (local.get $left)))
                            (v128.load32_zero (i32.add (local.get $top) (local.get $right)))))
                        (local.get $weights)))
                    (i32x4.mul
                      (local.get $down)
                      (i32x4.dot_i16x8_s
                        (i16x8.extend_low_i8x16_u
                          (i8x16.shuffle 0 16 1 17 2 18 3 19 0 0 0 0 0 0 0 0
                            (v128.load32_zero (i32.add (local.get $bottom) (local.get $left)))
                            (v128.load32_zero (i32.add (local.get $bottom) (local.get $right)))))
                        (local.get $weights))))
                  (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
                (i32.const 22))
              (v128.const i32x4 0 0 0 0))
            (v128.const i32x4 0 0 0 0)))
        (local.set $to (i32.add (local.get $to) (i32.const 3)))
        (br_if $eachColumn
          (i32.lt_u
            (local.tee $column (i32.add (local.get $column) (i32.const 32)))
            (local.get $columnsEnd))))
      (br_if $eachRow
        (i32.lt_u
          (local.tee $row (i32.add (local.get $row) (i32.const 16)))
          (local.get $rowsEnd))))))
