-- What a position is worth, by the name of the discount; the option `p` is that of the geometric
-- one.
CREATE OR REPLACE TEMP MACRO discount(name, position) AS
    CASE name
        WHEN 'log' THEN 1 / log2(position + 1)
        WHEN 'late_log' THEN 1 / greatest(1, log2(position))
        WHEN 'reciprocal' THEN 1 / position
        WHEN 'geometric' THEN pow(coalesce(getvariable('p'), 0.8), position - 1)
    END;
